import { z } from 'zod'

/** What the keys of gate.yaml hold. */
export const name = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'expected a lower-case name')
export const agentName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._@:/-]{0,127}$/, 'expected an agent name of up to 128 characters')
export const file = z.string().min(1).max(4096)
export const variable = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'expected the name of a variable')
export const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'expected 64 lower-case hex digits')
export const milliseconds = z.int().min(1).max(86_400_000)
export const seconds = z.int().min(1).max(31_536_000)
export const port = z.int().min(0).max(65_535)
export const host = z.string().regex(/^[A-Za-z0-9.:_-]{1,255}$/, 'expected a host name or address')
export const path = z.string().regex(/^\/[^?#\s]*$/, 'expected a path that starts with /')

export function parseUrl(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null
}

export const origin = z.string().superRefine((text, context) => {
  const url = parseUrl(text)
  const fault = (message: string): void => context.addIssue({ code: 'custom', message })
  if (url === null || !/^https?:$/.test(url.protocol)) fault('expected an http or https URL')
  else if (url.username !== '' || url.password !== '') {
    fault('a secret stands in the URL: use credential with env or file')
  } else if (url.pathname !== '/' || url.search !== '' || url.hash !== '') {
    fault('expected no path, query or fragment: targets are forwarded as they come')
  }
})

export const one =
  (...keys: readonly string[]) =>
  (value: Readonly<Record<string, unknown>>): boolean =>
    keys.filter((key) => value[key] !== undefined).length === 1

export const credential = z
  .strictObject({
    header: z
      .string()
      .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/, 'expected a header name')
      .default('Authorization'),
    env: variable.optional(),
    file: file.optional(),
  })
  .refine(one('env', 'file'), 'expected either env or file')
