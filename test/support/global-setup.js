import { spawnSync } from 'node:child_process'

/**
 * Tests that start processes run dist/: build it once per run, unless scripts/test.mjs just did. Type errors are
 * `npm run check`'s to report.
 */
export default function globalSetup() {
  if (process.env.TEST_BUILT === '1') return
  spawnSync(process.execPath, ['scripts/build.mjs'], { stdio: 'ignore' })
}
