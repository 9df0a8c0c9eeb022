#!/usr/bin/env python3
"""Calibrates a network from more samples than one process gets through: by processes of this machine, or by a Dask cluster.

  calibrate_many.py NET.itg PICTURES/ -o NET.int8.itg [--workers 2] [--part 100]
  calibrate_many.py NET.itg PICTURES/ -o NET.int8.itg --dask tcp://scheduler:8786

Each part of the pictures is observed by one worker, which answers with a state. States add up in any order, so a part whose worker
is lost runs again, and nothing else changes. The model has the bytes of `intaglio observe` and `intaglio calibrate --from` of all.
"""
import argparse
import concurrent.futures
import pathlib

import intaglio


def observe(network, pictures):
    return intaglio.observe(network, pictures, progress=False)


def parts_of(folder, size):
    pictures = sorted(str(path) for path in pathlib.Path(folder).iterdir() if path.suffix.lower() in (".png", ".jpg", ".jpeg", ".bmp"))
    return [pictures[first:first + size] for first in range(0, len(pictures), size)]


def states(network, parts, given):
    """Each part's state as it comes. A network pickles as its file, and workers find the pictures by the same paths."""
    if given.dask:
        import distributed
        with distributed.Client(given.dask) as cluster:
            held = cluster.scatter(network, broadcast=True)
            futures = distributed.as_completed([cluster.submit(observe, held, part) for part in parts])
            for future in futures:
                yield future.result()
                future.release()
        return
    with concurrent.futures.ProcessPoolExecutor(given.workers) as pool:
        for future in concurrent.futures.as_completed([pool.submit(observe, network, part) for part in parts]):
            yield future.result()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network")
    parser.add_argument("pictures")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--part", type=int, default=100, help="pictures that a worker observes at once")
    parser.add_argument("--dask", metavar="ADDRESS", help="of a scheduler")
    given = parser.parse_args()
    network = intaglio.open(given.network)
    seen = None
    for state in states(network, parts_of(given.pictures, given.part), given):
        seen = state if seen is None else seen + state
        print(f"{seen.samples} samples")
    if seen is None:
        raise SystemExit(f"{given.pictures}: holds no pictures")
    int8 = intaglio.calibrate(network, observed=seen, progress=False)
    int8.save(given.output)
    print(f"{given.output}: SHA-256 {int8.report.sha256}")


if __name__ == "__main__":
    main()
