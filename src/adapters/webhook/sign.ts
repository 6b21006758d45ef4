import { Webhook } from 'standardwebhooks'
import { fromHex } from '../../core/bytes/hex.js'
import { utf8 } from '../../core/bytes/text.js'
import type { Signer } from '../../ports/signer.js'

/**
 * Every shared secret signs (`v1`), so that a receiver may move from the old to the new at its own
 * time; and always the gate's own key (`v1a`, Ed25519), which a receiver cannot sign with itself.
 */
export function sign(
  message: { readonly id: string; readonly body: string; readonly now: number },
  secrets: readonly string[],
  signer: Signer,
): Record<`webhook-${'id' | 'timestamp' | 'signature'}`, string> {
  const { id, body } = message
  const seconds = Math.floor(message.now / 1000)
  const shared = secrets.map((secret) =>
    new Webhook(secret).sign(id, new Date(seconds * 1000), body),
  )
  // `kid` first, so that `sign` follows a rotation instead of refusing the retired key.
  signer.kid('webhook')
  const own = signer.sign('webhook', utf8(`${id}.${seconds}.${body}`))
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': [...shared, `v1a,${Buffer.from(own).toString('base64')}`].join(' '),
  }
}

/** `whsec_` and 24 to 64 bytes of base64; several with spaces between while one replaces another. */
export function parseSecrets(text: string): readonly string[] | null {
  const secrets = text.split(/\s+/).filter((part) => part !== '')
  const good = secrets.every((secret) => {
    const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1]
    if (encoded === undefined) return false
    const bytes = Buffer.from(encoded, 'base64')
    return bytes.length >= 24 && bytes.length <= 64 && bytes.toString('base64') === encoded
  })
  return good && secrets.length > 0 ? secrets : null
}

/** The public half as Standard Webhooks spells it. */
export function whpk(publicKeyHex: string): string {
  const bytes = fromHex(publicKeyHex)
  if (bytes === null) throw new TypeError('not a public key in hex')
  return `whpk_${Buffer.from(bytes).toString('base64')}`
}
