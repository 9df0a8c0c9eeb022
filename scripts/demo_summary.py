"""What scripts/demo found: demo_summary.py FOLDER FP32.itg INT8.itg [--json]"""
import json
import os
import sys

folder, fp32_file, int8_file, *form = sys.argv[1:]


def read(name):
    with open(os.path.join(folder, name + ".json"), encoding="utf-8") as file:
        return json.load(file)


eval_fp32, eval_int8 = read("eval_fp32"), read("eval_int8")
bench_fp32, bench_int8 = read("bench_fp32"), read("bench_int8")
compare, inspect = read("compare"), read("inspect_int8")
model_bytes, fp32_bytes = os.path.getsize(int8_file), os.path.getsize(fp32_file)

if form:
    print(json.dumps({
        "fp32_top1": eval_fp32["top1"], "int8_top1": eval_int8["top1"], "agreement": compare["agreement"],
        "model_bytes": model_bytes, "arena_bytes": inspect["arena_bytes"],
        "fp32_ms": bench_fp32["median_ms"], "int8_ms": bench_int8["median_ms"]}))
else:
    sqnr = "exact" if compare["sqnr_db"] is None else f"{compare['sqnr_db']:.1f} dB"
    threads = bench_int8["threads"]
    print(f"""
Meter digits, {eval_int8['count']} test pictures, calibrated with 16 others
                    FP32        int8
  top 1         {eval_fp32['top1']:6.2f} %    {eval_int8['top1']:6.2f} %
  latency       {bench_fp32['median_ms']:6.3f} ms   {bench_int8['median_ms']:6.3f} ms   median; {bench_int8['isa']} kernels, {threads} thread{'s' if threads != 1 else ''}
  model file    {fp32_bytes:6d} B    {model_bytes:6d} B
  activations              {inspect['arena_bytes']:8d} B
  the same digit for {100 * compare['agreement']:.2f} % of the pictures; SQNR of the output {sqnr}
  the int8 model: {int8_file}""")
