import { aspnet } from './aspnet.js'
import { httpServer } from './http-server.js'
import { expressExtended, expressSimple, searchParams } from './javascript.js'
import { php } from './php.js'
import { rack } from './rack.js'
import { servlet } from './servlet.js'
import { go, protobuf } from './typed-json.js'
import type { Reader } from './view.js'

/** Everything that may stand behind the gate, as far as it reads requests in its own way. */
export const READERS: readonly Reader[] = [
  searchParams,
  expressExtended,
  expressSimple,
  php,
  rack,
  servlet,
  aspnet,
  go,
  protobuf,
  httpServer,
]
