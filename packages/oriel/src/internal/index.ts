// The surface of `oriel/internal`: what gateway and command use beside what is promised. It may change with every version.

export { assertNoSlip, assertOptions, isNearly, type OptionNames } from '../core/log/options.ts'
export { searchToolBeside } from '../core/state/expansion.ts'
export { nearestName } from '../core/text/nearest-name.ts'
export type { Place, PlacedView, ResentHistory, ResentMessage } from '../thread/branches/places.ts'
export { placesOf, resentIn } from '../thread/branches/places.ts'
export { compactionAmong, compactionIn } from '../thread/branches/read-history.ts'
export { injectedTools, type LookupTool, lookupRoom, lookupTool } from '../thread/expand/lookups.ts'
export { assertPrompts } from '../thread/options.ts'
export { Deferral, deferralOf } from '../thread/tools/deferral.ts'
export { windowKind } from '../thread/view/provider-compaction.ts'
export { originsIn } from '../thread/view/view.ts'
