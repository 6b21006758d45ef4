import { describe, expect, it } from '@jest/globals'
import { readReport } from '../../../src/core/runtime/report.js'

const read = (text: string) => readReport(new TextEncoder().encode(text))

describe('a report', () => {
  it('says whether it went well, and keeps what else is claimed as it was written', () => {
    expect(read('{"ok":true}')).toEqual({ ok: true, report: { ok: true, claimed: null } })
    const claimed =
      '{ "result": 1.0e3, "diff":"+", "stdout":"", "stderr":"x", "usage":{"cost":0.10}, "model":"m", "parent_action":"a" }'
    expect(read(`{"claimed":${claimed},"ok":false}`)).toEqual({
      ok: true,
      report: { ok: false, claimed },
    })
    expect(read('{"ok":true,"claimed":{}}')).toEqual({
      ok: true,
      report: { ok: true, claimed: '{}' },
    })
  })

  it.each([
    ['{}', 'ok: true or false'],
    ['{"ok":"true"}', 'ok: true or false'],
    ['{"ok":true,"okay":true}', 'unknown member "okay"'],
    ['{"ok":true,"claimed":null}', 'claimed: an object'],
    ['{"ok":true,"claimed":"x"}', 'claimed: an object'],
    ['{"ok":true,"claimed":{"confirmed":true}}', 'unknown member claimed."confirmed"'],
    ['{"ok":true,"claimed":{"toString":"x"}}', 'unknown member claimed."toString"'],
    ['{"ok":true,"claimed":{"__proto__":"x"}}', 'unknown member claimed."__proto__"'],
    ['{"ok":true,"claimed":{"stdout":7}}', 'claimed.stdout: a string'],
    ['{"ok":true,"claimed":{"usage":[]}}', 'claimed.usage: an object'],
    ['[true]', 'not an object'],
    ['{"ok":true,"ok":false}', 'not strict UTF-8 JSON (duplicate_name)'],
    ['', 'not strict UTF-8 JSON (syntax)'],
  ])('%s cannot be read', (text, fault) => {
    expect(read(text)).toEqual({ ok: false, fault })
  })
})
