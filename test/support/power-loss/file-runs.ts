import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { makeFolder } from '../../../src/adapters/disk/folder.js'
import { createToken, readTokens, revokeTokens } from '../../../src/adapters/identity/tokens.js'
import { createKeys } from '../../../src/adapters/keys/create.js'
import {
  exportKeyring,
  keyringPath,
  listKeys,
  PURPOSES,
} from '../../../src/adapters/keys/keyring.js'
import { rotateKeys } from '../../../src/adapters/keys/rotate.js'
import { openSigner } from '../../../src/adapters/keys/signer.js'
import { deliveryId } from '../../../src/adapters/webhook/intake.js'
import { type Outbox, startOutbox } from '../../../src/adapters/webhook/outbox.js'
import { adoptData } from '../../../src/app/data/adopt.js'
import { ownSecret } from '../../../src/app/data/secrets.js'
import { verifyLedger } from '../../../src/verify.js'
import { denied, endpoint, journal, type Receiver } from '../../adapters/webhook/harness.js'
import { closed, opened } from '../../fixtures/older-data.js'
import { fakeTime } from '../approvals.js'
import type { Run } from './cases.js'
import { AT_WORST, existing, imageOf, writeImage } from './inodes.js'
import { type Plan, untilPowerLoss } from './scenario.js'

/** Keys made and rotated: what was confirmed is in the keyring, can sign, and what was retired is gone. */
export async function keysRun(run: Run, plan: Plan): Promise<readonly string[]> {
  const { random } = run
  const kids: string[] = []
  const retired: string[] = []
  const left = await untilPowerLoss(run, plan, async (disk, hit) => {
    const dir = join(disk.root, 'data', 'keys')
    if (!existsSync(keyringPath(dir))) {
      const made = await createKeys(dir, { onStep: hit })
      kids.push(...made.map(({ kid }) => kid))
    }
    for (let i = 0; i < 4; i++) {
      const done = await rotateKeys(dir, random.pick(PURPOSES), { onStep: hit })
      if (disk.isCut()) return
      kids.push(done.active.kid)
      retired.push(`${done.retired.purpose}-${done.retired.epoch}.key`)
    }
  })
  const dir = join(left.root, 'data', 'keys')
  if (kids.length === 0 && !existsSync(keyringPath(dir))) await createKeys(dir)
  const wrong: string[] = []
  for (const name of retired) if (existsSync(join(dir, name))) wrong.push(`${name} is back`)
  const signer = openSigner(dir)
  for (const purpose of PURPOSES) {
    signer.kid(purpose)
    signer.sign(purpose, Buffer.from('message'))
  }
  const found = listKeys(dir).map(({ kid }) => kid)
  for (const kid of kids) if (!found.includes(kid)) wrong.push(`key ${kid} is lost`)
  await rotateKeys(dir, 'event')
  openSigner(dir)
  const privates = readdirSync(dir).filter((name) => name !== 'keyring.json')
  if (privates.length !== PURPOSES.length) wrong.push(`left over: ${privates.join()}`)
  return wrong
}

/** Secrets of the installation: the same one for good, once it was used. */
export async function secretsRun(run: Run, plan: Plan): Promise<readonly string[]> {
  const names = ['tenant.salt', 'evidence.key']
  const used = new Map<string, string>()
  const secretIn = (root: string, name: string): string => {
    makeFolder(join(root, 'data', 'keys'))
    return ownSecret(join(root, 'data', 'keys', name), 32).toString('hex')
  }
  const left = await untilPowerLoss(run, plan, async (disk) => {
    for (const name of names) used.set(name, secretIn(disk.root, name))
  })
  return names.flatMap((name) => {
    const found = secretIn(left.root, name)
    return (used.get(name) ?? found) === found ? [] : [`${name} is another one`]
  })
}

/** Tokens given and revoked: who was given one may come in, who was revoked may not. */
export async function tokensRun(run: Run, plan: Plan): Promise<readonly string[]> {
  const { random } = run
  const given = new Map<string, 'there' | 'gone' | 'either'>()
  let last = 0
  const left = await untilPowerLoss(run, plan, async (disk) => {
    const dir = join(disk.root, 'data')
    resumed(dir)
    for (let i = 0; i < 6; i++) {
      const names = [...given.keys()]
      if (names.length > 1 && random.chance(0.4)) {
        const name = random.pick(names)
        given.set(name, 'either')
        revokeTokens(dir, name)
        given.set(name, 'gone')
      } else {
        const name = `agent-${++last}`
        given.set(name, 'either')
        createToken(dir, { role: 'agent', name, groups: [], now: new Date(0) })
        given.set(name, 'there')
      }
    }
  })
  const dir = join(left.root, 'data')
  const found = readTokens(dir).map(({ name }) => name)
  const wrong = [...given].flatMap(([name, state]) => {
    const isRight = state === 'either' || (state === 'there') === found.includes(name)
    return isRight ? [] : [`${name} should be ${state}`]
  })
  for (const name of found) if (!given.has(name)) wrong.push(`${name} was invented`)
  resumed(dir)
  createToken(dir, { role: 'agent', name: 'new', groups: [], now: new Date(0) })
  return wrong
}
/** What the message of an interrupted change asks the operator to remove. */
const resumed = (dir: string): void => rmSync(join(dir, 'tokens.json.tmp'), { force: true })

/** Notifications: each event after the first start arrives, whatever the outbox forgot. */
export async function outboxRun(run: Run, plan: Plan, hook: Receiver): Promise<readonly string[]> {
  const { random } = run
  const origin = `gate-${outboxes++}`
  const log = journal()
  for (let i = 0; i < 3; i++) log.append('CAPSULE', denied(`old-${i}`))
  let from: number | null = null
  const start = async (root: string, gone: () => boolean, sent: () => void): Promise<Outbox> => {
    makeFolder(join(root, 'data', 'journal'))
    const { clock } = fakeTime()
    return startOutbox({
      folder: join(root, 'data', 'webhooks'),
      endpoints: [endpoint(hook.url)],
      origin,
      present: async () => ({
        cursor: log.lines.length,
        context: { approvals: new Map(), judges: null },
      }),
      lines: log.read,
      subscribe: log.subscribe,
      signer: { kid: () => new Uint8Array(32), sign: () => new Uint8Array(64) },
      clock,
      timer: { after: () => () => undefined },
      random: () => 0,
      resolve: async () => [],
      link: () => null,
      report: ({ kind }) => {
        if (kind === 'delivered') sent()
      },
      // Without power nothing goes on.
      seam: () => (gone() ? new Promise<void>(() => undefined) : undefined),
    })
  }
  const left = await untilPowerLoss(run, plan, async (disk, hit) => {
    const outbox = await start(disk.root, disk.isCut, () => undefined)
    if (disk.isCut()) return
    from ??= log.lines.length
    for (let i = 0; i < 8; i++) {
      log.append('CAPSULE', denied(`new-${log.lines.length}`))
      hit('appended')
      for (let turn = random.below(30); turn > 0; turn--) await nextTurn()
      if (disk.isCut()) return
    }
    if (random.chance(0.3)) await outbox.close()
  })
  let delivered = (): void => undefined
  const outbox = await start(left.root, left.isCut, () => delivered())
  while (outbox.stats().some(({ pending }) => pending > 0)) {
    await new Promise<void>((done) => {
      delivered = done
    })
  }
  await outbox.close()
  const got = new Set(hook.got.map(({ id }) => id))
  return log.lines
    .filter(({ seq }) => from !== null && seq > from)
    .filter(({ seq }) => !got.has(deliveryId(origin, seq, 'verdict.denied', 'chat')))
    .map(({ seq }) => `nobody was told of line ${seq}`)
}
let outboxes = 0
const nextTurn = (): Promise<void> => new Promise((done) => setImmediate(done))

const FIXTURE = join(import.meta.dirname, '..', '..', 'fixtures', 'data-0.1')

/** A journal of version 1 taken over: whole and confirmed, or still to be taken over. */
export async function adoptRun(run: Run, plan: Plan): Promise<readonly string[]> {
  let isAdopted = false
  const adopt = (root: string) => adoptData(join(root, 'data'), join(root, 'data.head'), () => true)
  const prepare = (root: string): void => writeImage(imageOf(existing(FIXTURE), AT_WORST), root)
  const left = await untilPowerLoss(run, { ...plan, prepare }, async (disk) => {
    const done = await adopt(disk.root)
    isAdopted = !disk.isCut() && done?.kind === 'adopted'
  })
  const wrong: string[] = []
  if (isAdopted) {
    const again = await adopt(left.root).catch((error: unknown) => String(error))
    if (!/no way back/.test(String(again))) wrong.push('the adoption is lost')
  }
  const { gate } = await opened(left.root)
  const { damage } = await gate.data.journal.verified
  if (damage !== null) wrong.push(`damage: ${damage}`)
  await closed(gate)
  const dir = join(left.root, 'data', 'journal')
  const text = readdirSync(dir)
    .filter((name) => name.endsWith('.jsonl'))
    .sort()
    .map((name) => readFileSync(join(dir, name), 'utf8'))
    .join('')
  const { keys } = exportKeyring(join(left.root, 'data', 'keys'))
  const { status } = verifyLedger(text, { keys, crypto: nodeCrypto }).journal ?? {}
  if (status !== 'valid') wrong.push(`the journal is ${status}`)
  return wrong
}
