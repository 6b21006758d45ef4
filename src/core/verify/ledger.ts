import { isHex64 } from '../bytes/hex.js'
import { OPEN_CLASSES } from '../capsule/registries.js'
import type { Crypto } from '../crypto/crypto.js'
import { parse } from '../json/parse.js'
import { isArray, isObject, type JsonObject, type JsonValue } from '../json/value.js'
import type { PublicKeyRecord } from '../statement/keys.js'
import type { ChainView } from './chain.js'
import { type Addressed, address, class1 } from './class1.js'
import { type Class1Result, Findings, type Profile, refused, show } from './finding.js'
import { createJournal, type JournalOptions, type JournalResult } from './journal/journal.js'
import { coseOf, detached, isJournalLine } from './journal/line.js'
import { type StatementResult, verifyStatement } from './statement.js'
import { block } from './structure.js'
import { cutter, type Unit } from './units.js'

export type LedgerOptions = JournalOptions & {
  readonly profile: Profile
  readonly crypto: Crypto
  /** With keys, every signature of a journal is checked: statements, events, heads and seals. */
  readonly keys?: readonly PublicKeyRecord[]
  /** Capsule ids that lie outside what is given here, such as archived segments. */
  readonly store?: ReadonlySet<string>
}
/** What is known when the last record has been read. */
export type LedgerEnd = {
  readonly open_items: readonly string[]
  /** Null for what is no journal. Of a journal this is the answer; results are about single lines. */
  readonly journal: JournalResult | null
}
export type LedgerResult = LedgerEnd & { readonly results: readonly Class1Result[] }
type Item = { readonly value: JsonValue; readonly raw: Uint8Array | null; readonly whole: boolean }

const PRESENT = 1
const SUPERSEDED = 2
const OPEN = 4

/** Reads records in ledger order and remembers of each no more than its id and three bits. */
export class LedgerReader {
  readonly #options: LedgerOptions
  readonly #later: ReadonlySet<string>
  readonly #ids = new Map<string, number>()
  readonly #lines
  #journal: boolean | null = null
  #blankBefore = false

  constructor(options: LedgerOptions, later: ReadonlySet<string> = new Set()) {
    this.#options = options
    this.#later = later
    this.#lines = createJournal(options)
  }

  /** Null for a journal line that records no capsule and stands where it should. */
  read(item: Item, addressed?: Addressed): Class1Result | null {
    const { value } = item
    this.#journal ??= item.raw !== null && isObject(value) && isJournalLine(value)
    if (!this.#journal) return this.#capsule(value, null, new Findings(), addressed)
    const result = this.#line(item, addressed)
    if (result !== null) this.#lines.note(result)
    return result
  }

  /** What could not be read at all, or is no record; null where that means nothing. */
  other(unit: Exclude<Unit, { readonly kind: 'record' }> | Class1Result): Class1Result | null {
    if ('ok' in unit) return this.#noted(unit)
    if (unit.kind === 'broken')
      return this.#noted(refused(1, 'not_strict_json', `${unit.code} at ${unit.at}`))
    if (this.#journal === true) return this.#noted(refused(null, BLANK, 'a journal has none'))
    this.#blankBefore = true
    return null
  }

  #noted(result: Class1Result): Class1Result {
    this.#lines.note(result)
    return result
  }

  #line(item: Item, addressed: Addressed | undefined): Class1Result | null {
    const { value, raw, whole } = item
    if (!isObject(value) || raw === null || !isJournalLine(value))
      return refused(null, 'journal_line_malformed', `the line is ${show(value)}`)
    const findings = new Findings()
    if (this.#blankBefore) findings.fault(BLANK, 'before the first line')
    this.#blankBefore = false
    this.#lines.read(value, raw, whole, findings)
    if (value.get('type') === 'CAPSULE')
      return this.#capsule(value.get('capsule') ?? null, value, findings, addressed)
    if (findings.list.length === 0) return null
    const result = { ...refused(null, ''), findings: findings.list }
    return findings.failed ? result : { ...result, ok: true, not_checked: this.#lines.notChecked() }
  }

  end(): LedgerEnd {
    return {
      open_items: this.#openItems(),
      journal: this.#journal === true ? this.#lines.end() : null,
    }
  }

  /** Seed §5.4.4: open by class, and superseded by nothing. */
  #openItems(): string[] {
    const open: string[] = []
    for (const [id, flags] of this.#ids) if (flags === (PRESENT | OPEN)) open.push(id)
    return open
  }

  #capsule(
    capsule: JsonValue,
    line: JsonObject | null,
    findings: Findings,
    addressed = address(capsule, this.#options.crypto),
  ): Class1Result {
    const { profile, crypto, keys } = this.#options
    const chain = this.#view()
    let signed: StatementResult | null = null
    if (line !== null && keys !== undefined) {
      signed = verifyStatement(coseOf(line) ?? new Uint8Array(), { keys, profile, crypto, chain })
      reportStatement(signed, line, findings)
    }
    const own =
      signed?.class1 ?? class1(capsule, { profile, crypto, chain, signed: false }, addressed)
    if (profile === 'strict') this.#checkPosition(capsule, addressed.id, findings)
    const result: Class1Result = {
      ...own,
      ok: own.ok && !findings.failed,
      findings: findings.list.length === 0 ? own.findings : [...own.findings, ...findings.list],
      not_checked: [
        ...new Set([
          ...(signed?.class1 ? signed.not_checked : own.not_checked),
          ...(this.#journal
            ? this.#lines.notChecked()
            : ['action_id_uniqueness', 'ledger_completeness']),
        ]),
      ],
    }
    this.#remember(capsule, addressed.id, result.ok)
    return result
  }

  #view(): ChainView {
    return {
      parent: (id) => {
        if ((this.#flags(id) & PRESENT) !== 0 || this.#options.store?.has(id)) return 'earlier'
        if (this.#later.has(id)) return 'later'
        const partial = this.#journal === true && this.#lines.begins() !== 'start'
        return partial && this.#options.store === undefined ? 'unknown' : 'missing'
      },
      superseded: (id) => (this.#flags(id) & SUPERSEDED) !== 0,
    }
  }

  #checkPosition(capsule: JsonValue, id: string | null, findings: Findings): void {
    if (id !== null && (this.#flags(id) & PRESENT) !== 0)
      findings.fault('capsule_repeated', `${id} stands in the ledger already`)
    const of = isObject(capsule) ? capsule.get('dev.capsulegate.outcome_of') : undefined
    if (isHex64(of) && ['missing', 'later'].includes(this.#view().parent(of)))
      findings.fault('outcome_original_missing', `outcome_of ${of}`)
  }

  #flags(id: string): number {
    return this.#ids.get(id) ?? 0
  }

  #remember(capsule: JsonValue, id: string | null, ok: boolean): void {
    if (id === null || !isObject(capsule)) return
    const verdict = block(capsule, 'disposition')?.get('verdict_class')
    const open = OPEN_CLASSES.some((name) => name === verdict)
    this.#ids.set(id, this.#flags(id) | PRESENT | (open ? OPEN : 0))
    const chain = block(capsule, 'chain')
    const parent = chain?.get('parent_capsule_id')
    // What does not verify closes nothing.
    if (ok && isHex64(parent) && chain?.get('relation') === 'supersedes')
      this.#ids.set(detached(parent), this.#flags(parent) | SUPERSEDED)
  }
}

const BLANK = 'journal_line_empty'

function reportStatement(result: StatementResult, line: JsonObject, findings: Findings): void {
  const { ok, code, detail, kid } = result.signature
  if (!ok) findings.fault(`signature_${code}`, code === 'kid_unknown' ? (kid ?? detail) : detail)
  for (const { check, severity, code, detail } of result.findings)
    findings.add(check, severity, code, detail)
  if (result.header !== null && result.header.statement !== line.get('statement'))
    findings.fault('statement_type_mismatch', `line says ${show(line.get('statement'))}`)
}

function itemOf(unit: Extract<Unit, { readonly kind: 'record' }>): Item | Class1Result {
  const read = parse(unit.bytes)
  if (!read.ok) return refused(1, 'not_strict_json', `${read.code} at ${read.at}`)
  return { value: read.value, raw: unit.bytes, whole: unit.terminated }
}
const isItem = (item: Item | Class1Result): item is Item => 'value' in item

/** The result of one unit as it was cut, or null. */
export function readUnit(unit: Unit, reader: LedgerReader): Class1Result | null {
  if (unit.kind !== 'record') return reader.other(unit)
  const item = itemOf(unit)
  return isItem(item) ? reader.read(item) : reader.other(item)
}

/** All of a ledger that is in memory: two passes, so that a parent that stands too late is told apart. */
export function ledger(input: Uint8Array, options: LedgerOptions): LedgerResult {
  const items = (oneDocument(input) ?? cutAll(input)).map((part) => {
    if ('kind' in part && part.kind !== 'record') return part
    const item = 'kind' in part ? itemOf(part) : part
    return isItem(item) ? { item, addressed: address(capsuleIn(item), options.crypto) } : item
  })
  const all = new Set<string>()
  for (const entry of items) if ('item' in entry && entry.addressed.id) all.add(entry.addressed.id)
  const reader = new LedgerReader(options, all)
  const results = items.flatMap((entry) => {
    const result = 'item' in entry ? reader.read(entry.item, entry.addressed) : reader.other(entry)
    return result === null ? [] : [result]
  })
  return { results, ...reader.end() }
}

const capsuleIn = ({ value }: Item): JsonValue =>
  isObject(value) && isJournalLine(value) ? (value.get('capsule') ?? null) : value

function cutAll(input: Uint8Array): Unit[] {
  const cut = cutter()
  return [...cut.push(input), ...cut.end()]
}

/** One object over several lines, or the `{"ledger": […]}` of the public vectors; null if neither. */
function oneDocument(input: Uint8Array): Item[] | null {
  const first = input.find((byte) => byte > 0x20)
  if (first !== 0x7b) return null
  const read = parse(input, { maxBytes: input.length })
  if (!read.ok || !isObject(read.value)) return null
  const list = read.value.get('ledger')
  if (read.value.size === 1 && isArray(list))
    return list.map((value) => ({ value, raw: null, whole: true }))
  return isJournalLine(read.value) ? null : [{ value: read.value, raw: null, whole: true }]
}
