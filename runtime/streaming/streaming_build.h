// Whether sessions of this build can run rows through line buffers (intaglio/streaming.h). It costs each operator a few
// instructions and bytes, so a Cortex-M's build has it only where it is asked for: ITG_STREAMING=1. Without it
// stream_rows(), kStreaming and kRowsAlone are not defined, and a program that names them does not link.
#pragma once

#ifndef ITG_STREAMING
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#define ITG_STREAMING 0
#else
#define ITG_STREAMING 1
#endif
#endif

namespace intaglio {

inline constexpr bool kStreams = ITG_STREAMING != 0;

// Whether a run keeps a segment's decoded nodes from one band to the next: some 28 KB of stack. A Cortex-M decodes a node for each
// band.
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
inline constexpr bool kKeepsNodes = false;
#else
inline constexpr bool kKeepsNodes = true;
#endif

}  // namespace intaglio
