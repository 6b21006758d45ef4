import { randomBytes, randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { piiMarkers } from '../../../src/core/intent/pii.js'
import { IDS } from './samples.js'

const COUNT = 20_000
const UUID = IDS.other
/** Version 7 with a moment between 2020 and 2035. */
function uuid7(): string {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(1.577e12 + Math.floor(Math.random() * 4.7e11), 0, 6)
  bytes.writeUInt8(0x70 | ((bytes[6] ?? 0) & 0x0f), 6)
  bytes.writeUInt8(0x80 | ((bytes[8] ?? 0) & 0x3f), 8)
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
const spelled = (uuid: string): readonly string[] => [
  `Instructed in session ${uuid} under mandate ${uuid.toUpperCase()}.`,
  `urn:uuid:${uuid}, {${uuid}}; phone ${uuid}; phone ${uuid.replaceAll('-', '')}; order ${uuid.replaceAll('-', '')} (${uuid})/${uuid}`,
]

describe('marks of personal data', () => {
  it('are none in 20,000 UUIDs of each version', () => {
    const hits: string[] = []
    for (let i = 0; i < COUNT; i++) {
      for (const text of [...spelled(randomUUID()), ...spelled(uuid7())]) {
        if (piiMarkers(text).length > 0) hits.push(text)
      }
    }
    expect(hits).toEqual([])
  })

  it('are none in 20,000 digests, ids and times', () => {
    const hits: string[] = []
    for (let i = 0; i < COUNT; i++) {
      const hex = randomBytes(32).toString('hex')
      const at = new Date(Math.floor(Math.random() * 4e12)).toISOString()
      const number = String(randomBytes(4).readUInt32BE()).padStart(10, '0')
      const text = `${hex} at ${at} (${at.slice(0, 10)} ${at.slice(11, 19)}), order ${number}, ORD-${number.slice(0, 4)}-${number}, inv_${number}, ${number.slice(0, 4)}-${number.slice(4)}-A, 0171-23-${number}-A, A-555-123-4567, #${number}, ${at.slice(8, 10)}.${at.slice(5, 7)}.${at.slice(0, 4)}, ${at.slice(5, 7)}/${at.slice(8, 10)}/${at.slice(0, 4)}`
      if (piiMarkers(text).length > 0) hits.push(text)
    }
    expect(hits).toEqual([])
  })

  it.each([
    'Refund 1,234,567.89 EUR; limit 100 000 000, at 0.79996 of 1.2500000.',
    'Version 10.20.30.40, host 192.168.100.200, pkg@1.2.3, @scope/pkg, ratio 1:1000000',
    'Windows 2026-07-01 08:00 to 2026-07-02 17:30:00+02:00',
    'coordinates 52.5200066, 13.4049540; delta +15 and -3; C++20; 100-200-300',
    'card ending 4242; hotel 1234567; 2026 2027 2028 2029',
    'at the store, @mention, user@localhost',
    'mandate-1 session-1',
    `0171 ${UUID} 2345678 2026-07-01 2345678`,
    '',
    ' ',
  ])('are none in %j', (text) => {
    expect(piiMarkers(text)).toEqual([])
  })

  it.each([
    'write to bob@example.com',
    'BOB.smith+tag@mail.example.co.uk.',
    '<"bob smith"@example.com>',
    "mailto:o'neil@example.org?subject=x",
    'jürgen@exämple.de',
    'bob@xn--exmple-cua.de',
    'bob＠example．com',
    'bo\u200bb@exam\u00adple.com',
    '联系bob@example.com吗',
    'bob@[192.168.0.1]',
    'https://bob:secret@host.example/x',
    `deadbeefdeadbeefdeadbeef@example.com`,
    `${UUID}@example.com`,
  ])('are an e-mail address in %j', (text) => {
    expect(piiMarkers(text)).toEqual(['email'])
  })

  it.each([
    '+49 171 1234567',
    '+491711234567',
    '(+49) 171/123 45 67',
    '+1 (555) 123-4567',
    'call 555-123-4567 now',
    '555.123.4567',
    '(555) 123-4567',
    '1-555-123-4567',
    '030/1234567',
    '0171 234 5678',
    '01 23 45 67 89',
    '01-23-45-67-89',
    '(030) 123-456-78',
    '0049 171 1234567',
    'Tel.: 5551234567',
    'phone_number=5551234567',
    'WhatsApp +5551234567',
    'mobile no 1234567',
    '＋４９ １７１ １２３４５６７',
    '+49\u00a0171\u20111234567',
    '+49\n171\n1234567',
    '+4\u200b9171\u200b1234567',
    '+٤٩١٧١١٢٣٤٥٦٧',
    '请拨打0171-2345678谢谢',
    `${UUID} +49 171 1234567 2026-07-01T12:00:00Z`,
    `2026-07-01 0171 234 5678 ${UUID}`,
  ])('are a phone number in %j', (text) => {
    expect(piiMarkers(text)).toEqual(['phone'])
  })

  it('are both where both are there', () => {
    expect(piiMarkers('bob@example.com or +49 171 1234567')).toEqual(['email', 'phone'])
  })

  it('are found in any surroundings that are not part of them', () => {
    const around = fc.constantFrom(
      '',
      ' ',
      '. ',
      '; ',
      ' (',
      ') ',
      '\n',
      ' – ',
      ` ${UUID} `,
      ' 你好 ',
    )
    fc.assert(
      fc.property(around, around, (before, after) => {
        expect(piiMarkers(`${before}bob@example.com${after}`)).toEqual(['email'])
        expect(piiMarkers(`${before}+49 171 1234567${after}`)).toEqual(['phone'])
        expect(piiMarkers(`${before}555-123-4567${after}`)).toEqual(['phone'])
      }),
    )
  })

  /** Ten times the text may cost ten times the work, with room for a busy machine, and never a hundred times. */
  it('are looked for in time that grows with the text, whatever it repeats', () => {
    const parts = [
      'a',
      '0',
      '00 ',
      '0-',
      '+',
      '+1 ',
      '1.',
      'a@',
      '@',
      'a@b.',
      'a@1.',
      '(0',
      '555-',
      'tel ',
      '2026-',
      'f-',
      '١ ',
      '\u200b',
      '01/',
      'abcdef01-',
    ]
    const cost = (text: string): number => {
      let best = Number.POSITIVE_INFINITY
      for (let i = 0; i < 3; i++) {
        const before = process.cpuUsage()
        piiMarkers(text)
        const { user, system } = process.cpuUsage(before)
        best = Math.min(best, user + system)
      }
      return best
    }
    const slow = parts.filter((part) => {
      const small = Math.max(cost(part.repeat(Math.ceil(20_000 / part.length))), 2000)
      return cost(part.repeat(Math.ceil(200_000 / part.length))) > 40 * small
    })
    expect(slow).toEqual([])
  })
})
