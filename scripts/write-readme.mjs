/** Fills README's snippets from the files they name and its output from a real run; test/docs holds it to both. Run after a build. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const page = join(root, 'README.md')

function fromFile(place) {
  const [path, region] = place.split('#')
  const text = readFileSync(join(root, path), 'utf8')
  if (region === undefined) return text
  const lines = text.split('\n')
  const start = lines.findIndex((line) => line.trim() === `// #region ${region}`)
  const end = lines.findIndex((line) => line.trim() === `// #endregion ${region}`)
  if (start < 0 || end < start) throw new Error(`${place}: no such region`)
  const body = lines.slice(start + 1, end)
  const indent = /^ */.exec(body[0])[0].length
  return `${body.map((line) => line.slice(indent)).join('\n')}\n`
}

function fromRun(command) {
  const cwd = mkdtempSync(join(tmpdir(), 'capsule-gate-readme-'))
  const [, ...args] = command.split(' ')
  const main = join(root, 'dist', 'cli', 'main.js')
  const ran = spawnSync(process.execPath, [main, ...args], { cwd, encoding: 'utf8' })
  rmSync(cwd, { recursive: true, force: true })
  if (ran.status !== 0) throw new Error(`${command}: ${ran.stderr}`)
  return ran.stdout
}

const BLOCK = /<!-- (from|output): (.+) -->\n```(\w+)\n[\s\S]*?```/g
const filled = readFileSync(page, 'utf8').replace(BLOCK, (_, kind, what, language) => {
  const text = kind === 'from' ? fromFile(what) : fromRun(what)
  return `<!-- ${kind}: ${what} -->\n\`\`\`${language}\n${text}\`\`\``
})
writeFileSync(page, filled)
