// Causes of cache breaks in words.

const names: Readonly<Record<string, string>> = {
  edit: 'by an edit',
  ttl: 'expired',
  tools: 'tools changed',
  system: 'system text changed',
  parameters: 'parameters changed',
  model: 'model changed',
  routing: 'routed elsewhere',
  unknown: 'unexplained',
  frame: 'system text or tools changed',
  policy: 'policy changed',
  budget: 'budget',
  repair: 'provider rules',
}

export function causeName(cause: string): string {
  return names[cause] ?? cause
}
