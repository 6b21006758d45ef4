import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { createMetrics } from '../../../src/mounts/admin/routes/metrics.js'
import { ROUTES } from '../../../src/mounts/admin/routes.js'

const page = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'operate.md'), 'utf8')

describe('docs/operate.md', () => {
  it('has the route × role table, row by row', () => {
    const rows = page.split('\n').filter((line) => /^\| `(?:GET|POST|DELETE) /.test(line))
    expect(rows).toEqual(
      ROUTES.map(({ method, path, roles }) => {
        const who = roles === 'anyone' ? roles : roles.join(', ')
        return `| \`${method.toUpperCase()} ${path}\` | ${who} |`
      }),
    )
  })

  it('names every metric', async () => {
    const text = await createMetrics({ now: () => 0 }).text()
    const names = [...text.matchAll(/^# HELP (\w+)/gm)].map(([, name]) => String(name))
    expect(names.filter((name) => !page.includes(name))).toEqual([])
  })
})
