// OpenTelemetry span of one model call, by the GenAI conventions. Contains names, numbers and ids;
// never content or error messages from elsewhere.

import {
  type Attributes,
  type Context,
  context,
  ProxyTracerProvider,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TextMapGetter,
  type TextMapSetter,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { ReadableHeaders } from '../http/header-list.ts'
import { version } from '../version.ts'
import { scope } from './meters.ts'

type HeaderList = readonly (readonly [string, string])[]

export class CallSpan {
  readonly #context: Context
  readonly #span: Span

  constructor(
    tracer: Tracer,
    {
      headers,
      attributes,
      startTime,
    }: {
      readonly headers: ReadableHeaders
      readonly attributes: Attributes
      readonly startTime: number
    },
  ) {
    const model = attributes['gen_ai.request.model']
    const parent = parentOf(headers)
    this.#span = tracer.startSpan(
      model === undefined ? 'chat' : `chat ${String(model)}`,
      { kind: SpanKind.CLIENT, attributes, startTime },
      parent,
    )
    this.#context = trace.setSpan(parent, this.#span)
  }

  get isRecording(): boolean {
    return this.#span.isRecording()
  }

  set(attributes: Attributes): void {
    this.#span.setAttributes(attributes)
  }

  /** Adds trace propagation headers. Returns the same list if no propagator is registered. */
  inject(headers: HeaderList): HeaderList {
    const carrier: [string, string][] = []
    propagation.inject(this.#context, carrier, setter)
    if (carrier.length === 0) return headers
    const names = new Set(carrier.map(([name]) => name))
    return [...headers.filter(([name]) => !names.has(name)), ...carrier]
  }

  end(endTime: number, errorType: string | undefined): void {
    if (errorType !== undefined) {
      this.#span.setAttribute('error.type', errorType)
      this.#span.setStatus({ code: SpanStatusCode.ERROR })
    }
    this.#span.end(endTime)
  }
}

/** The tracer registered by the host; undefined if there is none, so that no span is created. */
export function hostTracer(): Tracer | undefined {
  const provider = trace.getTracerProvider()
  return provider instanceof ProxyTracerProvider
    ? provider.getDelegateTracer(scope, version)
    : provider.getTracer(scope, version)
}

/** The active span, for example of an instrumented server; else the client's. */
function parentOf(headers: ReadableHeaders): Context {
  const active = context.active()
  if (trace.getSpan(active) !== undefined) return active
  return propagation.extract(active, headers, getter)
}

const getter: TextMapGetter<ReadableHeaders> = {
  get: (headers, key) => headers.get(key) ?? undefined,
  keys: (headers) => [...headers.keys()],
}

const setter: TextMapSetter<[string, string][]> = {
  set: (carrier, key, value) => void carrier.push([key.toLowerCase(), value]),
}

/** An external name or id, if it looks like one. Anything that could be a sentence is left out. */
export function nameLike(value: unknown, maxLength = 100): string | undefined {
  const isName =
    typeof value === 'string' && value.length <= maxLength && /^[\w.:@/+~-]+$/.test(value)
  return isName ? value : undefined
}
