import { z } from 'zod'
import { file, one, parseUrl } from './fields.js'

const remoteKeys = z.string().superRefine((text, context) => {
  if (parseUrl(text)?.protocol !== 'https:') {
    context.addIssue({ code: 'custom', message: 'expected an https URL' })
  }
})

/** Of JWTs that say who calls. */
export const issuer = z
  .strictObject({
    issuer: z.string().min(1).max(1024),
    audience: z.string().min(1).max(1024),
    jwks_file: file.optional(),
    jwks_url: remoteKeys.optional(),
    agent_claim: z.string().min(1).max(128).default('sub'),
    roles_claim: z.string().min(1).max(128).default('roles'),
    developer_claim: z.string().min(1).max(128).optional(),
  })
  .refine(one('jwks_file', 'jwks_url'), 'expected either jwks_file or jwks_url')

/** Of mandates: whom an agent acts for, on which object, in which actions. */
export const mandateIssuer = z
  .strictObject({
    issuer: z.string().min(1).max(1024),
    audience: z.string().min(1).max(1024),
    jwks_file: file.optional(),
    jwks_url: remoteKeys.optional(),
    agent_claim: z.string().min(1).max(128).default('sub'),
    algorithms: z
      .array(z.enum(['EdDSA', 'ES256']))
      .min(1)
      .max(2)
      .default(['EdDSA']),
    /** Whether a mandate that is bound to no key or certificate of its sender is refused. */
    require_proof: z.boolean().default(false),
  })
  .refine(one('jwks_file', 'jwks_url'), 'expected either jwks_file or jwks_url')
