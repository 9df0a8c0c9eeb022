"""What is published of the in-order Cortex-A53 and Cortex-A55, as data for in_order_model.py. Each figure names its source.

  [M]    daniestevez/qsdr, qsdr-benchmarks/tests/instruction_benchmark/aarch64: measured on a Cortex-A53, a case a file
  [N]    Tencent/ncnn, docs/developer-guide/arm-a53-a55-dual-issue.md: observed on both cores
  [G]    gcc, gcc/config/arm/cortex-a53.md: Arm's own description for the compiler
  [L]    LLVM, AArch64SchedA55.td, which takes Arm's Cortex-A55 Software Optimization Guide (ARM-EPM-128372) over
  [S]    slothy-optimizer/slothy, targets/aarch64/cortex_a55.py: that guide, with exceptions found on silicon
  [O]    microsoft/onnxruntime #10754: a load of 128 bits blocks the A55 for two cycles, one of 64 bits issues with others

Not published, and taken from the other core: marked "as A55" and "as A53".
"""

# Cycles until a result can be used, by kind of instruction.
A55_LATENCY = {
    "alu": 1,  # [S] [L]
    "mul": 3,  # [S]
    "div": 8,  # [L]
    "load": 3,  # [L]
    "vload": 3,  # [S]; a second register, or a second half, comes a cycle later: see load_cycles
    "insert": 2,  # general register to vector, or to a lane [S]
    "extract": 2,  # vector to general register [S]
    "logic": 1,  # and, orr, eor, bsl [S] [L]
    "valu": 2,  # add, sub, min, max, compare, permute, shift by a number [S] [L]
    "valu3": 3,  # saturating, pairwise, rounding shifts, narrowing with saturation, across lanes [L]
    "vmul": 4,  # multiply, multiply-add, dot product, pairwise add and accumulate [S] [L]
    "fp": 4,  # add, multiply, multiply-add, convert, round [L]
    "fcmp": 3,  # [L]
    "fdiv": 13,  # [L]
}

CORES = {
    "cortex-a53": {
        # General registers [G] [M arith.rs]; vectors as A55 but for what [M] measured: fadd 4, ins 2, ldr d 3, ldr q 4.
        "latency": {**A55_LATENCY},
        # An address is needed in the issue stage: what computes it must be ready so many cycles longer [G].
        "address_delay": 2,
        # Stored values are read later than other operands [G]; so many cycles as saxpy's loop of 16 cycles needs [M kernels/saxpy.rs].
        "store_reads_late": 3,
        # Cycles to load 64 bits: a 64-bit path to the cache [M ldr.rs, ld1.rs].
        # A load or a store of a vector register takes one of two 64-bit halves of the vector unit, so that it cannot issue with
        # an instruction on 128 bits; `ins` likewise; two of 64 bits can [M dual_issue.rs, gpr.rs] [N].
        "vector_moves_take_half": True,
        "load_and_store": False,  # one memory instruction a cycle [G] [M dual_issue.rs]
        "single_mul": True,  # a multiplication of general registers issues alone [G]
        # No load of a vector in the cycle in which an fmla enters the adder, four after it [N] [G].
        "fmla_adder": 4,
    },
    "cortex-a55": {
        "latency": A55_LATENCY,
        "address_delay": 1,  # [L] ReadAdrBase
        "store_reads_late": 1,  # [L] ReadST
        "vector_moves_take_half": False,  # [N] [O]: a load of 64 bits or an insertion issues with a 128-bit multiplication
        "load_and_store": True,  # a load and a store pipe [L]
        "single_mul": False,  # [L]
        "fmla_adder": 0,
    },
}
# Both: an instruction on 128 bits of vectors issues first of its pair alone, and takes both halves [M dual_issue.rs] [S].
# Both: loads of more than 64 bits issue alone, a cycle for each 64 bits [M] [N] [O] [S]; stores a cycle for each 128 [M str_.rs] [L].
# Both: a multiply-add takes the sum of the one before it a cycle later [S]; fmla four cycles later [L].
# Not modelled: misses of caches, mispredicted branches, alignment of branch targets and of loads.

# (instructions, cycles a round on A53 and A55; None: not published): loops whose rounds do not wait for one another.
PUBLISHED = [
    (["fadd v1.4s, v1.4s, v31.4s", "fadd v2.4s, v2.4s, v31.4s", "fadd v3.4s, v3.4s, v31.4s", "fadd v4.4s, v4.4s, v31.4s"], 4, 4),
    (["ldr q0, [x1]"], 2, 2),
    (["ldp q0, q1, [x1]"], 4, 4),
    (["ldp d0, d1, [x1]"], 2, 2),
    (["ldr d0, [x1]", "ldr d1, [x1]"], 2, 2),
    (["ldr d0, [x1]", "fadd v1.4s, v2.4s, v3.4s"], 2, None),
    (["fadd v1.4s, v2.4s, v3.4s", "ldr d0, [x1]"], 2, 1),
    (["fadd v1.4s, v2.4s, v3.4s", "ldr x0, [x1]"], 1, 1),
    (["fadd v1.4s, v2.4s, v3.4s", "add x2, x2, #8"], 1, 1),
    (["fmla v1.4s, v2.4s, v3.4s", "fmla v4.4s, v2.4s, v3.4s", "fmla v5.4s, v2.4s, v3.4s", "ldr d0, [x1]", "ins v6.d[1], x4"], 4, 4),
    (["ldr d0, [x1]", "ins v1.d[1], x0"], 1, 1),
    (["ins v0.d[1], x0", "ins v1.d[1], x1"], 1, 1),
    (["ldr d0, [x1]", "ins v0.d[1], x0"], 2, None),
    (["ins v0.d[0], x0", "ins v0.d[1], x1"], 2, None),
    (["str q0, [x1]"], 1, 1),
    (["stp q0, q1, [x1]"], 2, 2),
    (["stp q0, q1, [x1]", "fadd v2.4s, v3.4s, v3.4s"], 3, 3),
    (["fadd v0.4s, v2.4s, v2.4s", "str q1, [x1]"], 2, None),
    (["ldr d0, [x1]", "str d1, [x1, #64]"], 2, None),
    (["fadd v0.4s, v2.4s, v2.4s", "str x0, [x1]"], 1, 1),
    (["mov x0, v1.d[0]", "fadd v0.4s, v2.4s, v2.4s"], 2, None),
    (["fadd v0.2s, v2.2s, v2.2s", "ldr d1, [x1]"], 1, 1),
    # The kernel of saxpy as rustc makes it, 16 cycles for 8 numbers.
    (["add x3, x1, x2", "add x2, x2, #0x20", "cmp x2, x4", "ldp q0, q1, [x3]", "fmul v0.4s, v0.4s, v2.s[0]", "fmul v1.4s, v1.4s, v2.s[0]",
      "fadd v0.4s, v0.4s, v3.4s", "fadd v1.4s, v1.4s, v3.4s", "stp q0, q1, [x3]", "b.ne 0"], 16, None),
]
# (instructions, cycles until the last one has issued).
PUBLISHED_CHAINS = [
    (["ldr q0, [x1]", "fadd v0.4s, v0.4s, v0.4s"], 5),
    (["ldp q0, q1, [x1]", "fadd v0.4s, v0.4s, v0.4s"], 5),
    (["ldp q0, q1, [x1]", "fadd v1.4s, v1.4s, v1.4s"], 7),
    (["ldr d0, [x1]", "fadd v0.4s, v0.4s, v0.4s"], 4),
    (["ldr d0, [x1]", "ldr d1, [x1]", "fadd v1.4s, v1.4s, v1.4s"], 5),
    (["ins v0.d[1], x0", "fadd v0.4s, v0.4s, v0.4s"], 3),
    (["fadd v0.4s, v0.4s, v31.4s", "fadd v0.4s, v0.4s, v31.4s", "fadd v0.4s, v0.4s, v31.4s"], 9),
]
