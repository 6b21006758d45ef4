import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { MAIN } from '../support.js'

describe('demo', () => {
  it('prints a link that leads to the waiting call, and commands that decide it as printed', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'demo-decide-'))
    const demo = spawn(process.execPath, [MAIN, 'demo'], { cwd: dir })
    const ended = once(demo, 'close')
    try {
      let out = ''
      await new Promise<void>((resolve, reject) => {
        demo.stdout.on('data', (chunk) => {
          out += chunk
          if (out.includes('Ctrl-C ends it')) resolve()
        })
        void ended.then(() => reject(new Error(out)))
      })
      const [link = '', id = ''] = /^ {4}(http:\S+\/approvals\/(\S+))$/m.exec(out)?.slice(1) ?? []
      const page = await fetch(link)
      expect([page.status, await page.text()]).toEqual([200, expect.stringContaining(id)])
      const commands = [...out.matchAll(/^ {4}(npx capsule-gate approvals .*\\\n {6}.*)$/gm)]
      const ran = commands.map(([, command = '']) =>
        spawnSync(
          'sh',
          ['-c', command.replace('npx capsule-gate', `"${process.execPath}" "${MAIN}"`)],
          { cwd: dir, encoding: 'utf8' },
        ),
      )
      expect(ran.map(({ status, stderr }) => [status, stderr])).toEqual([
        [0, ''],
        [0, ''],
      ])
      expect(ran[1]?.stdout).toBe('approved: the identical call runs once\n')
    } finally {
      demo.kill('SIGINT')
      await ended
      rmSync(dir, { recursive: true, force: true })
    }
  })
})
