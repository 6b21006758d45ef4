import { describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../../src/adapters/crypto-node.js'
import { manifestDigest } from '../../../../src/core/manifest/expand/expand.js'
import { manifestWarnings } from '../../../../src/core/manifest/expand/warnings.js'
import { manifestOf, PAYMENTS, problemsOf } from '../../../support/manifests.js'

const digestOf = (text: string): string => manifestDigest(manifestOf(text), nodeCrypto)
const payments = (keys: string): string => `${PAYMENTS}${keys.replace(/^(?=.)/gm, '    ')}\n`
const ruleOf = (keys: string) => manifestOf(payments(keys)).rules[0]

describe('whether a tool has intent', () => {
  it('leaves the digest of a manifest without it what it was', () => {
    expect(digestOf(PAYMENTS)).toBe(
      '03a77c956cc917ec0896ea773f784c26039723be0d43901fc6f390075868c967',
    )
  })

  it('has no object where none is written', () => {
    expect(manifestOf(PAYMENTS)).not.toHaveProperty('object')
  })

  it.each(['intent: off', 'intent: null'])('has no member for %s', (keys) => {
    expect(JSON.stringify(manifestOf(payments(keys)))).toBe(JSON.stringify(manifestOf(PAYMENTS)))
  })

  it.each(['required', 'optional'])('has no member for what %s intent means anyway', (intent) => {
    const rule = ruleOf(`intent: ${intent}\nthin: accept\ncross_principal: allow`)
    expect(rule).toMatchObject({ intent })
    expect(rule).not.toHaveProperty('thin')
    expect(rule).not.toHaveProperty('cross_principal')
  })

  it('is expanded to what expands to itself, and is part of the digest', () => {
    const seen = new Set([digestOf(PAYMENTS)])
    for (const intent of ['required', 'optional']) {
      for (const thin of ['', '\nthin: refuse']) {
        for (const cross of ['', '\ncross_principal: refuse']) {
          const manifest = manifestOf(payments(`intent: ${intent}${thin}${cross}`))
          const again = manifestOf(JSON.stringify(manifest))
          expect(JSON.stringify(again)).toBe(JSON.stringify(manifest))
          seen.add(manifestDigest(again, nodeCrypto))
        }
      }
    }
    expect(seen.size).toBe(9)
  })

  it.each([
    ['intent: sometimes', 'not a known value', 10],
    ['intent: true', 'not a known value', 10],
    ['intent: required\nthin: no', 'not a known value', 11],
    ['intent: required\ncross_principal: deny', 'not a known value', 11],
    ['thin: refuse', 'thin is said of a tool without intent', 10],
    ['thin: accept', 'thin is said of a tool without intent', 10],
    ['intent: off\nthin: refuse', 'thin is said of a tool without intent', 11],
    ['cross_principal: refuse', 'cross_principal is said of a tool without intent', 10],
  ])('refuses %j', (keys, message, line) => {
    const problems = problemsOf(payments(keys))
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatchObject({ message, line })
    expect(problems[0]?.way_out).not.toBe('')
  })
})

describe('a warning of thin declarations', () => {
  const codes = (irreversibility: string, keys: string): readonly string[] =>
    manifestWarnings(
      manifestOf(payments(keys).replace('one_way_consequential', irreversibility)),
    ).map(({ code }) => code)

  it.each([
    ['one_way_consequential', 'intent: required', ['thin_accepted']],
    ['one_way_consequential', 'intent: optional', ['thin_accepted']],
    ['one_way_terminal', 'intent: required\nthin: accept', ['thin_accepted']],
    ['one_way_terminal', 'intent: required\nthin: refuse', []],
    ['one_way_recoverable', 'intent: required', []],
    ['two_way', 'intent: required', []],
    ['one_way_terminal', 'intent: off', []],
  ])('%s with %j', (irreversibility, keys, expected) => {
    expect(codes(irreversibility, keys)).toEqual(expected)
  })

  it('is given for a manifest of v1 too', () => {
    const text = `manifest: gate.constraints/v1\n${payments('intent: required')}`
    const found = manifestWarnings(manifestOf(text)).map(({ code }) => code)
    expect(found).toEqual(['v1_open', 'thin_accepted'])
  })
})
