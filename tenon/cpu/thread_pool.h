// The process's one thread pool. Work is cut into tiles by shape alone and tiles are claimed dynamically, so who
// computes a tile changes no bit. A caller takes part; one that finds the pool busy, or is itself inside a tile, runs
// its own tiles in order. A forked child starts afresh.
#pragma once

#include <cstdint>
#include <type_traits>

namespace tenon::cpu {

using TileFunction = void (*)(void* context, int64_t tile);

// Calls function(context, tile) once for each tile in [0, tiles), on up to threads() threads, and returns when all are
// done. If tiles throw, tiles after the lowest failing one may be left out, and that lowest one's exception is
// rethrown.
void parallel_for(int64_t tiles, TileFunction function, void* context);

// The same for a callable: body(int64_t tile).
template <class Body>
void parallel_for(int64_t tiles, Body&& body) {
    using Callable = std::remove_reference_t<Body>;
    // The pool hands the pointer back to this lambda alone, which restores the type (and the const it may have had).
    void* context = const_cast<void*>(static_cast<const void*>(&body));
    parallel_for(
        tiles, [](void* c, int64_t tile) { (*static_cast<Callable*>(c))(tile); }, context);
}

// Threads that compute, the caller included. Default: min(affinity, cgroup quota).
int threads();
// n >= 1. Waits for running work to end; a usage error inside a tile.
void set_threads(int64_t n);
// Whether the calling thread is running a tile now (so that parallel_for would run in order).
bool inside_tile();

}  // namespace tenon::cpu
