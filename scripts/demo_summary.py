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
inspect_fp32, inspect_int8 = read("inspect_fp32"), read("inspect_int8")
compare = read("compare")
model_bytes, fp32_bytes = os.path.getsize(int8_file), os.path.getsize(fp32_file)

if form:
    print(json.dumps({
        "fp32_top1": eval_fp32["top1"], "int8_top1": eval_int8["top1"], "agreement": compare["agreement"],
        "model_bytes": model_bytes, "arena_bytes": inspect_int8["arena_bytes"],
        "fp32_ms": bench_fp32["median_ms"], "int8_ms": bench_int8["median_ms"]}))
else:
    sqnr = "exact" if compare["sqnr_db"] is None else f"{compare['sqnr_db']:.1f} dB"
    threads = bench_int8["threads"]
    print(f"""
Meter digits, {eval_int8['count']} test pictures, calibrated with 16 others
                    FP32          int8
  top 1         {eval_fp32['top1']:8.2f} %    {eval_int8['top1']:8.2f} %    {compare['lost']} pictures lost, {compare['won']} won: {'a' if compare['loss_is_real'] else 'no'} real loss
  latency       {bench_fp32['median_ms']:8.3f} ms   {bench_int8['median_ms']:8.3f} ms   median; {bench_int8['isa']} kernels, {threads} thread{'s' if threads != 1 else ''}
  model file    {fp32_bytes:8d} B    {model_bytes:8d} B
  activations   {inspect_fp32['arena_bytes']:8d} B    {inspect_int8['arena_bytes']:8d} B
Both give the same digit for {100 * compare['agreement']:.2f} % of the pictures; SQNR of the output: {sqnr}.
The int8 model is {int8_file}""")
