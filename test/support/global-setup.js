import { spawnSync } from 'node:child_process'

/** Tests that start processes run dist/: build it once per run. Type errors are `npm run check`'s to report. */
export default function globalSetup() {
  spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], {
    stdio: 'ignore',
  })
}
