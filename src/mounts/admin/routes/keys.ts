import { z } from 'zod'
import { ADMIN_ROLES } from '../../../ports/admin.js'
import { answering, json, route } from '../route.js'

export const keys = route({
  method: 'get',
  path: '/v1/keys',
  summary: 'The public keyring, every epoch; compare it with the one you pinned.',
  roles: ADMIN_ROLES,
  answers: answering({
    keys: z.array(z.looseObject({ kid: z.string(), alg: z.unknown(), public_key: z.string() })),
  }),
  handle: (_, { gate }) => json({ keys: gate.read.keys() }),
})
