#!/usr/bin/env bash
# Builds the fuzz targets as OSS-Fuzz wants them: $OUT/NAME, NAME_seed_corpus.zip, NAME.dict, the libraries that they load in
# $OUT/lib. OSS-Fuzz sets CC, CXX, CFLAGS, CXXFLAGS, LIB_FUZZING_ENGINE, SRC, WORK and OUT. Elsewhere:
#   oss-fuzz/build.sh --here FOLDER [TARGET...]    with this machine's clang and libFuzzer, and a look at each: 2,000 runs
set -euo pipefail
case "${1:-}" in -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; exit ;; esac
here=''
if [ "${1:-}" = --here ]; then
  [ $# -ge 2 ] || { echo "build.sh: --here needs a folder" >&2; exit 2; }
  mkdir -p "$2"
  here=1 OUT=$(cd "$2" && pwd)
  export CC=clang CXX=clang++ LIB_FUZZING_ENGINE=-fsanitize=fuzzer SANITIZER=address
  export CFLAGS="-O1 -g1 -fsanitize=address,undefined -fsanitize=fuzzer-no-link" CXXFLAGS="-O1 -g1 -fsanitize=address,undefined -fsanitize=fuzzer-no-link"
  shift 2
fi
root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ -f "$root/../CMakeLists.txt" ] && root=$(cd "$root/.." && pwd) || root=$SRC/intaglio
build=${WORK:-$root/build}/oss-fuzz

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
  for file in "$root"/tests/fuzz/*_fuzz.cc; do
    name=${file##*/}
    names+=("${name%_fuzz.cc}")
  done
fi
targets=()
for name in "${names[@]}"; do targets+=("${name}_fuzz"); done

# OSS-Fuzz asks for libc++, and the image's pugixml is compiled with libstdc++: it would not link. libFuzzer keeps a
# C++ library of its own.
export CXXFLAGS=${CXXFLAGS//-stdlib=libc++/}
parts=()
[ "${SANITIZER:-}" != memory ] || parts=(-DITG_KERNELS= -DITG_WEBP=OFF)  # it does not see what assembly and libwebp write
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=None -DITG_FUZZ=ON -DITG_OPENMP=OFF -DITG_INSTALL=OFF \
  -DITG_FUZZING_ENGINE="$LIB_FUZZING_ENGINE" -DCMAKE_BUILD_RPATH='$ORIGIN/lib' "${parts[@]}"
cmake --build "$build" --target "${targets[@]}" fuzz_seeds

mkdir -p "$OUT/lib"
for name in "${names[@]}"; do
  target=$build/tests/fuzz/${name}_fuzz
  cp "$target" "$OUT/"
  # What the image that runs them may lack; the C and C++ libraries are there.
  ldd "$target" | awk '/=> \// {print $3}' | grep -vE '/(libc|libm|libdl|librt|libpthread|libgcc_s|libresolv)\.so' |
    xargs -r -I{} cp -Ln {} "$OUT/lib/" || true
  seeds=$(mktemp -d)
  [ ! -x "$build/tests/fuzz/${name}_seeds" ] || "$build/tests/fuzz/${name}_seeds" "$seeds"
  if [ "$name" = model ]; then cp "$root"/tests/frozen/*.itg "$seeds"; fi
  if [ "$name" = calibration_state ]; then cp "$root"/tests/frozen/*.state "$seeds"; fi
  if [ -n "$(ls "$seeds")" ]; then (cd "$seeds" && zip -q -r - .) >"$OUT/${name}_fuzz_seed_corpus.zip"; fi
  rm -r "$seeds"
done
python3 "$root/oss-fuzz/make_dictionaries.py" "$root" "$OUT" "${names[@]}"

if [ -n "$here" ]; then
  for name in "${names[@]}"; do
    corpus=$(mktemp -d)
    [ ! -f "$OUT/${name}_fuzz_seed_corpus.zip" ] || unzip -q "$OUT/${name}_fuzz_seed_corpus.zip" -d "$corpus"
    dictionary=$OUT/${name}_fuzz.dict
    "$OUT/${name}_fuzz" -runs=2000 -max_total_time=60 -detect_leaks=0 -verbosity=0 -artifact_prefix="$OUT/$name-" \
      $([ ! -f "$dictionary" ] || echo "-dict=$dictionary") "$corpus"
    echo "build.sh: $name: $(ls "$corpus" | wc -l) inputs kept"
    rm -r "$corpus"
  done
fi
