import type { GateConfig, SecretRef } from './model.js'

/** What the gate runs with, fit to be shown: secrets by their place, token hashes by their start. */
export function effective(config: GateConfig): unknown {
  const { upstreams, mcp, identity, webhooks, ...rest } = config
  return {
    ...rest,
    upstreams: mapped(upstreams, ({ credential, ...upstream }) => ({
      ...upstream,
      credential:
        credential === null
          ? null
          : { header: credential.header, secret: place(credential.secret) },
    })),
    mcp: mapped(mcp, ({ to, ...server }) => ({
      ...server,
      to:
        to.kind === 'url' && to.credential !== null
          ? { ...to, credential: { ...to.credential, secret: place(to.credential.secret) } }
          : to,
    })),
    webhooks: mapped(webhooks, ({ secret, ...hook }) => ({
      ...hook,
      secret: secret === null ? null : place(secret),
    })),
    identity: {
      ...identity,
      agents: mapped(identity.agents, ({ token_sha256, ...agent }) => ({
        ...agent,
        token_sha256: token_sha256 === null ? null : `${token_sha256.slice(0, 8)}…`,
      })),
    },
  }
}

const place = (secret: SecretRef): string =>
  secret.kind === 'env' ? `(from env ${secret.name})` : `(from file ${secret.path})`

const mapped = <T, U>(
  members: { readonly [name: string]: T },
  change: (member: T) => U,
): Record<string, U> =>
  Object.fromEntries(Object.entries(members).map(([name, member]) => [name, change(member)]))
