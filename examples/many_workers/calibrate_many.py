#!/usr/bin/env python3
"""Calibrates a network from more samples than one process gets through: by processes of this machine, or by a Dask cluster.

  calibrate_many.py NET.itg PICTURES/ -o NET.int8.itg [--workers 2] [--part 100]
  calibrate_many.py NET.itg PICTURES/ -o NET.int8.itg --dask tcp://scheduler:8786

Each part of the pictures is observed by one worker, which answers with a state. Then the calibration asks, and each worker answers over
its part. States and answers add up in any order, so a part whose worker is lost runs again, and nothing else changes. The model has
the bytes of `intaglio calibrate` over all pictures, with the same --recover.
"""
import argparse
import contextlib
import concurrent.futures
import pathlib

import intaglio


def observe(network, pictures, question):
    return intaglio.observe(network, pictures, question=question, progress=False)


def as_it_is(value):
    return value


def parts_of(folder, size):
    pictures = sorted(str(path) for path in pathlib.Path(folder).iterdir() if path.suffix.lower() in (".png", ".jpg", ".jpeg", ".bmp"))
    return [pictures[first:first + size] for first in range(0, len(pictures), size)]


@contextlib.contextmanager
def workers(network, parts, given):
    """A function of a question, or None: what each part has to say, as it comes. A network and a question pickle, and workers find the
    pictures by the same paths."""
    if given.dask:
        import distributed
        with distributed.Client(given.dask) as cluster:
            # As results of tasks, not by scatter(): what a lost worker held of them is made anew.
            held = cluster.submit(as_it_is, network, pure=False)

            def ask(question):
                asked = cluster.submit(as_it_is, question, pure=False)
                for future in distributed.as_completed([cluster.submit(observe, held, part, asked) for part in parts]):
                    yield future.result()
                    future.release()
            yield ask
        return
    with concurrent.futures.ProcessPoolExecutor(given.workers) as pool:
        yield lambda question: (future.result() for future in concurrent.futures.as_completed(
            [pool.submit(observe, network, part, question) for part in parts]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network")
    parser.add_argument("pictures")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--part", type=int, default=100, help="pictures that a worker observes at once")
    parser.add_argument("--recover", default="default", help="as of 'intaglio calibrate'")
    parser.add_argument("--dask", metavar="ADDRESS", help="of a scheduler")
    given = parser.parse_args()
    network = intaglio.open(given.network)
    parts = parts_of(given.pictures, given.part)
    if not parts:
        raise SystemExit(f"{given.pictures}: holds no pictures")
    with workers(network, parts, given) as ask:
        said, rounds = [sum(ask(None))], 1
        print(f"{said[0].samples} samples")
        while said:
            try:
                int8, said = intaglio.calibrate(network, observed=said, question=True, recover=given.recover, progress=False), None
            except intaglio.Question as question:
                said, rounds = [question, sum(ask(question))], rounds + 1
                print(f"round {rounds}")
    int8.save(given.output)
    print(f"{given.output}: SHA-256 {int8.report.sha256}")


if __name__ == "__main__":
    main()
