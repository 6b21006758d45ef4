import { IRREVERSIBILITY_CLASSES } from '../../capsule/registries.js'
import type { Manifest, ObjectModel, ToolRule } from '../model.js'
import type { ManifestWarning } from './warnings.js'

const CONSEQUENTIAL = IRREVERSIBILITY_CLASSES.indexOf('one_way_consequential')

export function* intentWarnings({ rules, object }: Manifest): Generator<ManifestWarning> {
  for (const rule of rules) {
    if (acceptsThin(rule)) {
      yield {
        tool: rule.tool,
        code: 'thin_accepted',
        message: `${rule.tool} cannot be undone and accepts declarations without a goal or reasoning`,
        way_out: 'write thin: refuse',
      }
    }
  }
  if (object === undefined) return
  if (rules.every(({ intent }) => intent === undefined)) {
    yield {
      tool: null,
      code: 'object_unused',
      message: `no tool has intent, so nothing is known of the object ${object.type}`,
      way_out: 'write intent: required for the tools that change it, or remove object',
    }
    return
  }
  for (const rule of rules.filter((one) => changesUnseen(one, object))) {
    yield {
      tool: rule.tool,
      code: 'transition_unseen',
      message: `${rule.tool} changes the object ${object.type}, and without intent no state is kept of that`,
      way_out: 'write intent: required',
    }
  }
}

/** Seed intent-declaration-primitive-01 §8.6. */
const acceptsThin = ({ intent, thin, effect }: ToolRule): boolean =>
  intent !== undefined &&
  thin === undefined &&
  IRREVERSIBILITY_CLASSES.indexOf(effect.irreversibility_class) >= CONSEQUENTIAL

const changesUnseen = ({ intent, action }: ToolRule, { transitions }: ObjectModel): boolean =>
  intent === undefined && Object.hasOwn(transitions, action)
