import { UNKNOWN_STATE } from '../../core/intent/object.js'
import type { ObjectModel } from '../../core/manifest/model.js'
import type { ObjectState } from '../../ports/state.js'
import type { Governed } from '../context.js'

/** An object as calls are judged by it: null where nothing is on record, UNKNOWN_STATE where it is not known any more. */
export const governedObject = (
  soId: string,
  model: ObjectModel | null,
  onRecord: ObjectState | null,
): Governed => ({
  model,
  soId,
  state: onRecord === null ? null : (onRecord.state ?? UNKNOWN_STATE),
})
