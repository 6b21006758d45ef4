import { describe, expect, it } from '@jest/globals'

/** What `npm test` needs beside npm: installed where that is allowed and said first, else named. */
type Options = {
  mayInstall: boolean
  isHere(name: string): boolean
  install(packages: readonly string[]): void
  print(line: string): void
}
const { setUpTools } = (await import('../../scripts/test/tools.mjs' as string)) as {
  setUpTools(options: Options): void
}

function run({ here = [] as string[], mayInstall = true, fails = false }): string[] {
  const names = new Set(here)
  const events: string[] = []
  setUpTools({
    mayInstall,
    isHere: (name) => names.has(name),
    install(packages) {
      events.push(`apt-get ${packages.join(' ')}`)
      if (!fails) for (const name of packages) names.add(name)
    },
    print: (line) => events.push(line),
  })
  return events
}

describe('tools for the suites', () => {
  it('are left alone where they are, under any name', () => {
    expect(run({ here: ['google-chrome', 'strace', 'python3', 'openssl'] })).toEqual([])
  })

  it('are installed where that is allowed, after one line that says so', () => {
    expect(run({ here: ['python3', 'openssl'] })).toEqual([
      'installing with apt-get (not with --no-setup): chromium, strace',
      'apt-get chromium strace',
    ])
  })

  it('are named in one line where they may not be installed', () => {
    expect(run({ here: ['python3', 'chromium'], mayInstall: false })).toEqual([
      'missing, so the suites that need them do not run: strace, openssl',
    ])
  })

  it('are named too where installing did not help', () => {
    expect(run({ here: ['python3', 'chromium', 'openssl'], fails: true }).at(-1)).toBe(
      'missing, so the suites that need them do not run: strace',
    )
  })
})
