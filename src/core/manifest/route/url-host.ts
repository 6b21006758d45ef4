/**
 * The authority of an absolute URL, read so that no parser reads another one: no user part, no
 * backslash, no control, nothing encoded or beyond ASCII in the host. Null otherwise.
 */
const URL_FORM = /^(https?|wss?):\/\/([a-z0-9.-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?(?:[/?#]|$)/i
const DEFAULT_PORT: Readonly<Record<string, string>> = {
  http: '80',
  https: '443',
  ws: '80',
  wss: '443',
}

/** `host`, or `host:port` when the port is not the scheme's own. */
export function urlAuthority(url: string): string | null {
  if (/[\u0000-\u0020\u007f\\]/.test(url)) return null
  const parts = URL_FORM.exec(url)
  if (parts === null) return null
  const scheme = (parts[1] ?? '').toLowerCase()
  const host = (parts[2] ?? '').toLowerCase()
  const port = parts[3]
  if (host.startsWith('.') || host.endsWith('.') || host.includes('..')) return null
  return port === undefined || port === DEFAULT_PORT[scheme] ? host : `${host}:${port}`
}

export const isAuthority = (text: string): boolean => urlAuthority(`https://${text}/`) === text
