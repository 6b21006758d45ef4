import { join } from 'node:path'
import { existsSync, readdirSync, type Stats, statfs, statSync } from '../../adapters/disk/files.js'
import { readTokens, tokensFile } from '../../adapters/identity/tokens.js'
import { RESERVE_BYTES } from '../../adapters/journal/model.js'
import { openCpsSigner } from '../../adapters/keys/cps-signer.js'
import { listKeys } from '../../adapters/keys/keyring.js'
import { openSigner } from '../../adapters/keys/signer.js'
import type { GateConfig } from '../../config/model.js'
import { utf8 } from '../../core/bytes/text.js'
import { attempt, type Check, fail, ok, warn } from './check.js'

/** What stands on disk: who may read it, whether keys sign, whether there is room. */
export async function checkFolder(config: GateConfig): Promise<readonly Check[]> {
  const { data_dir: dir } = config
  if (!existsSync(dir)) {
    return [warn('data folder', `${dir} is not there yet`, 'capsule-gate serve makes it')]
  }
  const keyDir = join(dir, 'keys')
  const mendTokens = `repair ${tokensFile(dir)}, or remove it and issue new tokens`
  return [
    ...permissions(config),
    ...(await attempt('keys', `capsule-gate keys create --dir ${keyDir}`, () => keys(keyDir))),
    ...(await attempt('disk', `check the mount of ${dir}`, () => space(dir))),
    ...(await attempt('tokens', mendTokens, () => tokens(dir))),
  ]
}

function permissions({ data_dir, evidence }: GateConfig): Check[] {
  const found: Check[] = []
  const others = (grade: typeof fail, path: string, { mode }: Stats, what: string): void => {
    const octal = (mode & 0o777).toString(8).padStart(4, '0')
    const fix = `chmod ${path === data_dir ? '700' : '600'} ${path}`
    found.push(grade('permissions', `${path} has mode ${octal}: ${what}`, fix))
  }
  const folder = statSync(data_dir)
  if ((folder.mode & 0o022) !== 0) {
    others(fail, data_dir, folder, 'others may replace what is in it')
  } else if ((folder.mode & 0o077) !== 0) others(warn, data_dir, folder, 'others may look in')
  const own = process.getuid?.()
  if (own !== undefined && own !== 0 && folder.uid !== own) {
    const detail = `${data_dir} belongs to user ${folder.uid}, you are ${own}`
    found.push(fail('permissions', detail, 'run as the user the gate runs as, or chown -R it'))
  }
  const keyDir = join(data_dir, 'keys')
  const keyFiles = existsSync(keyDir) ? readdirSync(keyDir) : []
  const secrets = [
    ...keyFiles.filter((name) => /\.(?:key|salt)$/.test(name)).map((name) => join(keyDir, name)),
    evidence.master_key_file,
    tokensFile(data_dir),
  ]
  for (const path of new Set(secrets)) {
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat !== undefined && (stat.mode & 0o077) !== 0) {
      others(fail, path, stat, 'a secret that others may read')
    }
  }
  return found.length > 0 ? found : [ok('permissions', `${data_dir} is its owner's alone`)]
}

function keys(dir: string): Check[] {
  if (!existsSync(dir)) return [warn('keys', 'none yet', 'capsule-gate serve makes them')]
  const active = listKeys(dir).filter(({ status }) => status === 'active')
  const signer = openSigner(dir)
  const message = utf8('capsule-gate/doctor\n')
  for (const { purpose } of active) {
    if (purpose === 'cps') openCpsSigner(dir).sign(message)
    else signer.sign(purpose, message)
  }
  return [ok('keys', active.map(({ purpose, epoch }) => `${purpose} epoch ${epoch}`).join(', '))]
}

const MIB = 1024 * 1024
/** Both reserves and a segment: below it the gate cannot be sure to conclude what it dispatched. */
const LEAST = 96 * MIB
const LITTLE = 1024 * MIB

async function space(dir: string): Promise<Check[]> {
  const { bavail, bsize } = await statfs(dir)
  const free = bavail * bsize
  const detail = `${Math.floor(free / MIB)} MiB free for ${dir}`
  const way = `make room on the file system of ${dir}, or: capsule-gate ledger archive --data ${dir} --to ELSEWHERE`
  const grade = free < LEAST ? fail : warn
  const room = free < LITTLE ? grade('disk', detail, way) : ok('disk', detail)
  const reserve = join(dir, 'journal', 'reserve')
  const size = statSync(reserve, { throwIfNoEntry: false })?.size
  if (size === undefined || size === RESERVE_BYTES) return [room]
  const short = `${reserve} holds ${size} of ${RESERVE_BYTES} bytes: the disk was full`
  return [room, warn('disk reserve', short, 'make room; the gate fills it again by itself')]
}

function tokens(dir: string): Check[] {
  const roles = readTokens(dir).map(({ role }) => role)
  const operators = roles.filter((role) => role === 'operator').length
  const make = `capsule-gate tokens create --role operator --name YOU --dir ${dir}`
  return [
    operators === 0
      ? warn('tokens', 'nobody has an operator token: only a signal can halt the gate', make)
      : ok('tokens', `${roles.length} issued, ${operators} for operators`),
  ]
}
