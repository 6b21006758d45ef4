/** Programs that suites use beside Node and npm's packages. Where one is missing, the suites that need it are skipped. */
import { spawnSync } from 'node:child_process'

/** Debian's package → the names one of which has to be on the path. */
export const TOOLS = {
  chromium: ['chromium', 'chromium-browser', 'google-chrome'],
  strace: ['strace'],
  python3: ['python3'],
  openssl: ['openssl'],
}

export const isOnPath = (name) => spawnSync('sh', ['-c', `command -v ${name}`]).status === 0
const missingTools = (isHere) =>
  Object.keys(TOOLS).filter((tool) => !TOOLS[tool].some((name) => isHere(name)))

/** Says in one line what it installs, and in one line what stays missing. */
export function setUpTools({ mayInstall, isHere = isOnPath, install = aptInstall, print }) {
  const missing = missingTools(isHere)
  if (missing.length === 0) return
  if (mayInstall) {
    print(`installing with apt-get (not with --no-setup): ${missing.join(', ')}`)
    install(missing)
  }
  const left = missingTools(isHere)
  if (left.length > 0) print(`missing, so the suites that need them do not run: ${left.join(', ')}`)
}

export const mayUseApt = () => process.getuid?.() === 0 && isOnPath('apt-get')

function aptInstall(packages) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  spawnSync('apt-get', ['update', '-qq'], { stdio: 'ignore', env })
  // One by one: a package that this release lacks keeps none of the others away.
  for (const name of packages)
    spawnSync('apt-get', ['install', '-y', '-qq', name], { stdio: 'ignore', env })
}
