import { describe, expect, test } from 'vitest'
import { fileOf } from './digest.ts'

describe('the file that a command reads', () => {
  test.each([
    ["cd /repo && sed -n '10,40p' src/cart.ts | head -20", 'src/cart.ts'],
    ['grep -n "total" ./shop/order.py', './shop/order.py'],
    ["cat > check.py << 'EOF'\nimport shop/order.py\nEOF", 'check.py'],
    ['python -m pytest tests/test_cart.py -q 2>&1 | tail -5', 'tests/test_cart.py'],
  ])('[ME6] is the one that it names: %s', (command, file) => {
    expect(fileOf(command)).toBe(file)
  })

  test.each(['ls -la', 'diff a.txt b.txt', 'find . -name "*.py"', 'sleep 0.5', 'npm test'])(
    '[ME6] is none where it names none or several: %s',
    (command) => {
      expect(fileOf(command)).toBeUndefined()
    },
  )
})
