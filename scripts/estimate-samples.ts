// Text samples of many kinds, written or generated, for measuring the token estimate.

import { createHash } from 'node:crypto'
import { prose } from './estimate-prose.ts'

/** Texts by category, deterministic. */
export function makeSamples(): ReadonlyMap<string, readonly string[]> {
  return new Map([...generated(), ...Object.entries(code), ...Object.entries(prose)])
}

function generated(): [string, readonly string[]][] {
  const orders = range(12).map(order)
  const bundle = { body: JSON.stringify(orders), code: code.TypeScript?.[0] }
  return [
    [
      'JSON, pretty',
      [JSON.stringify(orders, null, 2), JSON.stringify(orders.slice(0, 3), null, 4)],
    ],
    ['JSON, compact', [JSON.stringify(orders), JSON.stringify({ orders: orders.slice(0, 4) })]],
    ['JSON in JSON', [JSON.stringify(bundle)]],
    ['CSV', [`id,name,email,amount,created\n${lines(40, csvLine)}`]],
    ['log', [lines(40, logLine)]],
    ['URLs', [lines(30, url)]],
    ['UUIDs', [lines(40, uuid)]],
    ['hex', [lines(20, (index) => bytes(index, 32).toString('hex'))]],
    ['hex, one run', [bytes(1, 1280).toString('hex')]],
    ['base64', [lines(30, (index) => bytes(index, 57).toString('base64'))]],
    ['base64, one run', [bytes(2, 2520).toString('base64')]],
    ['base64url', [lines(20, (index) => bytes(index, 48).toString('base64url'))]],
    ['numbers', [lines(60, (index) => (number(index, 1e9) / 1000).toFixed(3))]],
  ]
}

function lines(length: number, make: (index: number) => string): string {
  return range(length).map(make).join('\n')
}

function order(index: number): unknown {
  return {
    order_id: `#W${number(index, 1e7)}`,
    user_id: `${pick(names, index).toLowerCase()}_${number(index, 9000)}`,
    address: { city: pick(cities, index), zip: String(10_000 + number(index, 80_000)) },
    items: range(1 + (index % 3)).map((item) => ({
      name: pick(products, index + item),
      product_id: String(number(index * 7 + item, 1e10)),
      price: number(index + item, 90_000) / 100,
      options: { color: pick(colors, index + item), size: pick(['S', 'M', 'L', 'XL'], index) },
    })),
    status: pick(['pending', 'processed', 'delivered', 'cancelled'], index),
    is_gift: index % 4 === 0,
    note: null,
  }
}

function csvLine(index: number): string {
  const name = pick(names, index)
  const created = new Date(1_700_000_000_000 + number(index, 1e10)).toISOString()
  return `${index},${name},${name.toLowerCase()}@example.com,${number(index, 1e5) / 100},${created}`
}

function logLine(index: number): string {
  const time = new Date(1_760_000_000_000 + index * 1371).toISOString()
  const level = pick(['INFO', 'DEBUG', 'WARN', 'ERROR'], index)
  const request = bytes(index, 6).toString('hex')
  const path = pick(['/api/v1/orders', '/api/v1/users/42', '/healthz', '/auth/token'], index)
  const status = pick(['200', '201', '404', '500'], index)
  return `${time} ${level} [worker-${index % 4}] request=${request} GET ${path} ${status} in ${number(index, 900)}ms`
}

function url(index: number): string {
  const host = pick(['docs.example.com', 'github.com', 'api.shop.example.org'], index)
  const page = pick(['getting-started', 'blob/main/src/index.ts', 'v2/search'], index)
  return `https://${host}/${page}?q=${pick(products, index).replaceAll(' ', '+')}&page=${index}#top`
}

function uuid(index: number): string {
  const hex = bytes(index, 16).toString('hex')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

const names = ['Amara', 'Yusuf', 'Mei', 'Ivan', 'Sofia', 'Noah', 'Harper', 'Liam', 'Fatima', 'Chen']
const cities = ['San Diego', 'Chicago', 'Fort Worth', 'Denver', 'New York', 'Seattle']
const products = ['Mechanical Keyboard', 'Desk Lamp', 'Hiking Boots', 'Water Bottle', 'Backpack']
const colors = ['black', 'blue', 'silver', 'white', 'red']

function range(length: number): number[] {
  return Array.from({ length }, (_, index) => index)
}

function pick<Value>(values: readonly Value[], index: number): Value {
  return values[index % values.length] as Value
}

function bytes(seed: number, length: number): Buffer {
  return createHash('shake256', { outputLength: length }).update(`sample ${seed}`).digest()
}

function number(seed: number, below: number): number {
  return Number(bytes(seed, 6).readUIntBE(0, 6) % below)
}

const code: Readonly<Record<string, readonly string[]>> = {
  TypeScript: [
    `import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Order, OrderLine } from '../model/order.ts'

const defaultCurrency = 'EUR'

export interface InvoiceOptions {
  readonly currency?: string
  readonly taxRate: number
  onProgress?: (done: number, total: number) => void
}

/** Sums the lines of an order and adds the tax. */
export async function createInvoice(order: Order, options: InvoiceOptions): Promise<Invoice> {
  const { currency = defaultCurrency, taxRate } = options
  const template = await readFile(join(import.meta.dirname, 'invoice.html'), 'utf8')
  let net = 0
  for (const [index, line] of order.lines.entries()) {
    net += line.unitPrice * line.quantity
    options.onProgress?.(index + 1, order.lines.length)
  }
  if (Number.isNaN(net)) throw new TypeError(\`order \${order.id} has a line without a price\`)
  return { id: \`inv_\${order.id}\`, currency, net, gross: Math.round(net * (1 + taxRate)), template }
}

function isDiscounted(line: OrderLine): boolean {
  return line.discounts !== undefined && line.discounts.some((discount) => discount.percent > 0)
}
`,
    `const server = http.createServer((req, res) => {
  const url = new URL(req.url ?? '/', 'http://localhost')
  if (req.method !== 'GET') {
    res.writeHead(405, { Allow: 'GET' }).end()
    return
  }
  const cached = cache.get(url.pathname)
  if (cached && cached.expiresAt > Date.now()) return res.end(cached.body)
  handlers[url.pathname]?.(url.searchParams)
    .then((body) => { cache.set(url.pathname, { body, expiresAt: Date.now() + 60_000 }); res.end(body) })
    .catch((error: unknown) => { logger.error({ error, path: url.pathname }, 'request failed'); res.writeHead(500).end() })
})
`,
  ],
  Python: [
    `from __future__ import annotations

import argparse
import logging
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Measurement:
    station: str
    celsius: float
    tags: list[str] = field(default_factory=list)


class TemperatureReport:
    """Collects measurements and reports the mean for each station."""

    def __init__(self, *, min_samples: int = 3) -> None:
        self._by_station: dict[str, list[float]] = defaultdict(list)
        self.min_samples = min_samples

    def add(self, measurement: Measurement) -> None:
        if not -90.0 <= measurement.celsius <= 60.0:
            raise ValueError(f"implausible temperature: {measurement.celsius!r}")
        self._by_station[measurement.station].append(measurement.celsius)

    def means(self) -> dict[str, float]:
        return {
            name: sum(values) / len(values)
            for name, values in sorted(self._by_station.items())
            if len(values) >= self.min_samples
        }


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    args = parser.parse_args(argv)
    report = TemperatureReport()
    for number, line in enumerate(args.path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            station, value = line.split(";")
            report.add(Measurement(station, float(value)))
        except ValueError as error:
            logger.warning("line %d skipped: %s", number, error)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
`,
  ],
  shell: [
    `#!/usr/bin/env bash
set -euo pipefail

BACKUP_DIR="\${BACKUP_DIR:-/var/backups/postgres}"
KEEP_DAYS=14
STAMP="$(date -u +%Y%m%dT%H%M%SZ)"

usage() {
  echo "usage: $0 [-d database] [-h host] [-p port]" >&2
  exit 64
}

while getopts ':d:h:p:' opt; do
  case "$opt" in
    d) DATABASE="$OPTARG" ;;
    h) PGHOST="$OPTARG" ;;
    p) PGPORT="$OPTARG" ;;
    *) usage ;;
  esac
done
shift $((OPTIND - 1))

mkdir -p "$BACKUP_DIR"
for table in $(psql -At -c "select tablename from pg_tables where schemaname = 'public'"); do
  echo "dumping $table ..."
  pg_dump --format=custom --table="$table" "$DATABASE" | gzip -9 > "$BACKUP_DIR/$table-$STAMP.dump.gz" || {
    echo "failed: $table (exit $?)" >&2
    rm -f "$BACKUP_DIR/$table-$STAMP.dump.gz"
    exit 1
  }
done
find "$BACKUP_DIR" -name '*.dump.gz' -mtime +"$KEEP_DAYS" -print -delete | wc -l
curl -fsS -X POST -H 'Content-Type: application/json' --data "{\\"stamp\\": \\"$STAMP\\"}" https://hooks.example.com/done
`,
  ],
  SQL: [
    `select o.id, o.created_at, c.email, sum(l.quantity * l.unit_price) as total
from orders o
join customers c on c.id = o.customer_id
left join order_lines l on l.order_id = o.id
where o.created_at >= now() - interval '30 days' and o.status not in ('cancelled', 'refunded')
group by o.id, o.created_at, c.email
having sum(l.quantity * l.unit_price) > 100
order by total desc
limit 50;

create index concurrently if not exists orders_customer_id_created_at_idx on orders (customer_id, created_at desc);
`,
  ],
  diff: [
    `diff --git a/src/cache/lru.ts b/src/cache/lru.ts
index 3f1c2ab..9d04e77 100644
--- a/src/cache/lru.ts
+++ b/src/cache/lru.ts
@@ -12,14 +12,19 @@ export class LruCache<Key, Value> {
   readonly #entries = new Map<Key, Value>()
   readonly #capacity: number

-  constructor(capacity = 100) {
-    this.#capacity = capacity
+  constructor({ capacity = 100, onEvict }: LruOptions<Key, Value> = {}) {
+    if (capacity < 1) throw new RangeError(\`capacity must be at least 1, got \${capacity}\`)
+    this.#capacity = capacity
+    this.#onEvict = onEvict
   }

   get(key: Key): Value | undefined {
-    return this.#entries.get(key)
+    const value = this.#entries.get(key)
+    if (value === undefined) return undefined
+    this.#entries.delete(key)
+    this.#entries.set(key, value)
+    return value
   }
`,
  ],
  'test output': [
    `============================= test session starts ==============================
platform linux -- Python 3.11.7, pytest-8.3.2, pluggy-1.5.0
rootdir: /srv/app
collected 48 items / 2 deselected / 46 selected

tests/test_models.py ......................                              [ 47%]
tests/test_views.py ....F.............                                   [ 86%]
tests/test_urls.py ......                                                [100%]

=================================== FAILURES ===================================
______________________ test_profile_redirects_when_logged_out __________________

client = <django.test.client.Client object at 0x7f3a1c2b9d50>

    def test_profile_redirects_when_logged_out(client):
        response = client.get(reverse("accounts:profile"))
>       assert response.status_code == 302
E       assert 200 == 302
E        +  where 200 = <TemplateResponse status_code=200, "text/html; charset=utf-8">.status_code

tests/test_views.py:61: AssertionError
=========================== short test summary info ============================
FAILED tests/test_views.py::test_profile_redirects_when_logged_out - assert 200 == 302
================= 1 failed, 45 passed, 2 deselected in 3.41s ===================
`,
  ],
  'directory tree': [
    `src/
├── cli/
│   ├── commands/
│   │   ├── inspect.ts
│   │   └── serve.ts
│   └── main.ts
├── core/
│   ├── entry.ts
│   ├── errors.ts
│   └── log.ts
├── formats/
│   ├── anthropic.ts
│   └── openai-chat.ts
└── index.ts
drwxr-xr-x  5 root root   4096 Nov 15 22:11 .
drwxr-xr-x 12 root root   4096 Nov 15 21:58 ..
-rw-r--r--  1 root root  18211 Nov 15 22:11 package-lock.json
-rw-r--r--  1 root root   1204 Nov 15 22:10 package.json
`,
  ],
  HTML: [
    `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Orders</title>
    <link rel="stylesheet" href="/assets/main.css?v=20251114" />
  </head>
  <body class="page page--orders">
    <nav aria-label="Main"><ul><li><a href="/">Home</a></li><li><a href="/orders" aria-current="page">Orders</a></li></ul></nav>
    <table id="orders" data-sort="desc">
      <thead><tr><th scope="col">Number</th><th scope="col">Customer</th><th scope="col">Total</th></tr></thead>
      <tbody><tr><td>1042</td><td>Amara Okafor</td><td>&euro; 129.90</td></tr></tbody>
    </table>
    <script type="module" src="/assets/app.js"></script>
  </body>
</html>
`,
  ],
  markdown: [
    `# Release notes

## 2.4.0

**Highlights**

- The command line now reads settings from \`oriel.config.json\`; flags still win.
- Searching a long thread is about **three times faster**, because the index is kept between runs.
- Fixed: a tool result with an empty body no longer breaks the table ([#312](https://example.com/issues/312)).

### Upgrading

1. Install the new version: \`npm install oriel@2.4.0\`
2. Run \`npx oriel doctor\` and read what it says.
3. If you use your own store, implement \`readRange(from, to)\`.

| setting | before | now |
|---|---|---|
| \`timeoutMs\` | 10000 | 30000 |
| \`maxRetries\` | 2 | 3 |

> Note: the old names keep working until the next major version, with a warning.
`,
  ],
}
