#!/usr/bin/env python3
"""Law of the API reference: every public declaration has a comment, and the pages that scripts/site makes of them read as planned.

  api_reference_law.py ROOT
  api_reference_law.py --self-test
"""
import difflib
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
from api_pages import MADE, Reference  # noqa: E402

PLANTED = {
    "cmake/ItgInstall.cmake": "itg_install(intaglio intaglio one)\nitg_install(intaglio_c c two)\nitg_install(intaglio_host host)\n",
    "one/include/intaglio/part.h": """// A part. Of a whole.
//
//   y = a * x + b
#pragma once

namespace intaglio {

// Runs PartOptions::count times: see part_bytes(). See docs/tutorial.md.
class Part {
 public:
  Part() = default;
  // Takes `count` bytes. [0, 1] * 2. Set PART_MODE=fast: ITG_PART_...
  int run(const unsigned char* bytes,
          int count = 0) { return count; }
  int width() const { return width_; }  // in pixels
  bool empty() const;

 private:
  friend struct Other;
  int width_ = 0;
};

// How.
struct PartOptions {
  int count = 0, limit = 1;  // [0, 16]
  // Called with each.
  void (*call)(void* context, int i) = nullptr;
};

inline constexpr int kParts = 3;  // at most
inline constexpr int kPieces = 4;

int part_bytes(int count);  // of memory

enum class Kind : int { kOne = 1, kTwo };

}  // namespace intaglio
""",
    "two/include/intaglio/part_c.h": """/* A part for C. */
#pragma once

/* ---- Parts ---- */
typedef struct itg_part {
  int width; /* in pixels */
} itg_part;
int itg_part_run(itg_part* part);
enum { ITG_ONE = 1 };
""",
}
EXPECTED = {
    "docs/api/runtime.md": f"""# The runtime in C++

{MADE}

- [`intaglio/part.h`](#intagliopart.h): A part.

## `intaglio/part.h`

A part. Of a whole.

```
y = a * x + b
```

### `class Part`

Runs [`PartOptions::count`](#struct-partoptions) times: see [`part_bytes()`](#part_bytes). See [docs/tutorial.md](../tutorial.md).

#### `Part::run`

```cpp
int run(const unsigned char* bytes,
        int count = 0);
```

Takes `count` bytes. [0, 1] \\* 2. Set `PART_MODE=fast`: `ITG_PART_...`

#### `Part::width`

```cpp
int width() const;
```

In pixels.

#### `Part::empty`

```cpp
bool empty() const;
```

### `struct PartOptions`

How.

- `int count = 0, limit = 1`: [0, 16]
- `void (*call)(void* context, int i) = nullptr`: Called with each.

### `kParts`, `kPieces`

- `constexpr int kParts = 3`: at most
- `constexpr int kPieces = 4`

### `part_bytes`

```cpp
int part_bytes(int count);
```

Of memory.

### `enum Kind`

`kOne = 1`, `kTwo`.
""",
    "docs/api/c.md": f"""# The library in C

{MADE}

- [`intaglio/part_c.h`](#intagliopart_ch): A part for C.

## `intaglio/part_c.h`

A part for C.

### Parts

#### `struct itg_part`

- `int width`: in pixels

In C++: [`Part`](runtime.md#class-part).

#### `itg_part_run`

```c
int itg_part_run(itg_part* part);
```

In C++: [`Part::run`](runtime.md#partrun).

#### `ITG_ONE`

`ITG_ONE = 1`.
""",
}
EXPECTED["docs/api/runtime.md"] = EXPECTED["docs/api/runtime.md"].replace("#intagliopart.h", "#intaglioparth")


def self_test():
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for name, text in PLANTED.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        made = Reference(pathlib.Path(folder))
    for name, text in EXPECTED.items():
        for line in difflib.unified_diff(text.splitlines(), made.texts[name].splitlines(), "expected " + name, "made", lineterm=""):
            good = False
            print(line)
    print("without a comment:", *made.missing)
    return 0 if good and made.missing == ["part.h:16: `empty` has no comment", "part.h:35: `Kind` has no comment"] else 1


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    made = Reference(pathlib.Path(arguments[0]))
    print(*made.missing, sep="\n")
    print(f"{len(made.texts)} pages, {made.count} declarations, {len(made.missing)} without a comment")
    return 1 if made.missing or made.count == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
