/**
 * `npm test`: types, lint, the build, every suite with few draws, and the third-party vectors where they lie beside
 * the repository. `npm run test:long`: the suites that this leaves out, and those that draw more cases there.
 * Both end with `N passed, N failed`. The file named by TEST_SUMMARY, if set, holds what the run came to.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { close } from './test/close.mjs'
import { makeScratch } from './test/scratch.mjs'
import { emptySummary, summaryOf, sumOf } from './test/summary.mjs'
import { mayUseApt, setUpTools } from './test/tools.mjs'

const VECTORS = join('..', 'shared', 'vectors')
const LONG_ONLY = '.long.test.ts'
const bin = (name) => join('node_modules', '.bin', name)
const print = (line) => process.stdout.write(`\n${line}\n`)

const given = process.argv.slice(2)
const isLong = given.includes('--long')
const jestArgs = given.filter((arg) => arg !== '--long' && arg !== '--no-setup')
const steps = emptySummary()

function step(name, command, args) {
  print(`── ${name}`)
  const { status } = spawnSync(command, args, { stdio: 'inherit' })
  if (status === 0) steps.passed += 1
  else steps.failed += 1
}

function suites(name, args, env) {
  print(`── ${name}`)
  const scratch = makeScratch()
  const report = join(scratch.folder, 'jest.json')
  const { status } = spawnSync(
    process.execPath,
    [
      '--experimental-vm-modules',
      '--disable-warning=ExperimentalWarning',
      join('node_modules', 'jest', 'bin', 'jest.js'),
      '--json',
      `--outputFile=${report}`,
      // One more than there are processors: suites wait for processes, syncs and deadlines of their own.
      `--maxWorkers=${availableParallelism() + 1}`,
      ...args,
      ...jestArgs,
    ],
    {
      stdio: ['inherit', 'ignore', 'inherit'],
      env: { ...process.env, ...env, TMPDIR: scratch.folder },
    },
  )
  const ran = existsSync(report)
    ? summaryOf(JSON.parse(readFileSync(report, 'utf8')), isLong ? 'long' : 'quick')
    : emptySummary()
  // jest may end badly with no test to blame, as where it finds none.
  if (status !== 0 && ran.failed === 0) ran.failed = 1
  scratch.remove()
  return ran
}

function quick() {
  step('types of the core (no host, no clock)', bin('tsc'), ['-p', 'src/core/tsconfig.json'])
  step('types', bin('tsc'), ['-p', 'tsconfig.json'])
  step('lint and format', bin('biome'), ['check', '--error-on-warnings', '.'])
  step('build', process.execPath, [join('scripts', 'build.mjs')])
  const ran = suites('suites', [`--testPathIgnorePatterns=${LONG_ONLY.replaceAll('.', '\\.')}$`], {
    TEST_BUILT: '1',
  })
  if (existsSync(VECTORS)) {
    const main = join('dist', 'cli', 'main.js')
    step('third-party vectors', process.execPath, [main, 'conformance', VECTORS])
  } else {
    const reason = '../shared/vectors is not here'
    steps.notRun.push({ suite: 'scripts/test.mjs', reason, tests: 1 })
  }
  return ran
}

function long() {
  const longOnly = readdirSync('test', { recursive: true })
    .filter((path) => path.endsWith(LONG_ONLY))
    .map((path) => join('test', path))
  const drawing = join('test', 'support', 'draws.ts')
  const args = ['--findRelatedTests', drawing, ...longOnly]
  return suites('suites with all their draws', args, { TEST_LONG: '1' })
}

setUpTools({ mayInstall: !given.includes('--no-setup') && mayUseApt(), print })
const ran = isLong ? long() : quick()
const summary = sumOf([steps, ran])
if (process.env.TEST_SUMMARY !== undefined)
  writeFileSync(process.env.TEST_SUMMARY, JSON.stringify(summary))
close(summary)
