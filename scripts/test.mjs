/**
 * Everything that must hold, in one command: types, lint, the build, all suites, and the third-party
 * vectors where they lie beside the repository. Prints one closing line: `N passed, N failed`.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const SHARED = join('..', 'shared', 'vectors')
let passed = 0
let failed = 0

function step(name, command, args) {
  process.stdout.write(`\n── ${name}\n`)
  const { status } = spawnSync(command, args, { stdio: 'inherit', env: process.env })
  if (status === 0) passed += 1
  else failed += 1
  return status === 0
}

const isHere = (name) => spawnSync('sh', ['-c', `command -v ${name}`]).status === 0

/** What suites need beside Node: installed where that is allowed, else those suites say they did not run. */
function need(names, debian, why) {
  if (names.some(isHere)) return
  const quiet = { stdio: 'ignore', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } }
  if (process.getuid?.() === 0 && isHere('apt-get')) {
    process.stdout.write(`\n${debian}: not here, installing it with apt-get (${why})\n`)
    spawnSync('apt-get', ['update', '-qq'], quiet)
    spawnSync('apt-get', ['install', '-y', '-qq', debian], quiet)
  }
  if (!names.some(isHere)) {
    process.stdout.write(`\n${debian}: not here; suites that need it do not run (${why})\n`)
  }
}

const node = (...args) => [process.execPath, args]
const bin = (name) => join('node_modules', '.bin', name)

step('types of the core (no host, no clock)', bin('tsc'), ['-p', 'src/core/tsconfig.json'])
step('types', bin('tsc'), ['-p', 'tsconfig.json'])
step('lint and format', bin('biome'), ['check', '--error-on-warnings', '.'])
step('build', bin('tsc'), ['-p', 'tsconfig.build.json'])

need(['chromium', 'chromium-browser', 'google-chrome'], 'chromium', 'pages are tried in a browser')
need(['strace'], 'strace', 'power loss is tried on what a gate synced')
need(
  ['python3'],
  'python3',
  'the checker of examples/verify-python, and snippets of docs/capsule.md',
)
need(['openssl'], 'openssl', 'signatures in that checker and in those snippets')
if (isHere('strace') && spawnSync('strace', ['-f', 'true']).status !== 0) {
  process.stdout.write('\nstrace: may not trace here; test/e2e/power-loss.test.ts does not run\n')
}
const scratch = mkdtempSync(join(tmpdir(), 'capsule-gate-test-'))
const report = join(scratch, 'jest.json')
process.stdout.write('\n── suites\n')
spawnSync(
  ...node(
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    join('node_modules', 'jest', 'bin', 'jest.js'),
    '--json',
    `--outputFile=${report}`,
    // jest leaves one processor free by default, which is half of a small machine.
    '--maxWorkers=100%',
    ...process.argv.slice(2),
  ),
  { stdio: ['inherit', 'ignore', 'inherit'] },
)
if (existsSync(report)) {
  const result = JSON.parse(readFileSync(report, 'utf8'))
  passed += result.numPassedTests
  // A suite that cannot even load has no tests to count.
  failed += result.numFailedTests + result.numRuntimeErrorTestSuites
} else failed += 1
rmSync(scratch, { recursive: true, force: true })

if (existsSync(SHARED)) {
  step('third-party vectors', ...node(join('dist', 'cli', 'main.js'), 'conformance', SHARED))
} else process.stdout.write('\nvectors: not present\n')

process.stdout.write(`\n${passed} passed, ${failed} failed\n`)
process.exitCode = failed === 0 ? 0 : 1
