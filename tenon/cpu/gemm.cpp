// Cuts a product into tiles by shape alone, and runs them on the pool. The arithmetic is in sets/gemm.cpp.
#include "tenon/cpu/gemm.h"

#include <algorithm>

#include "tenon/cpu/instruction_set.h"
#include "tenon/cpu/scratch.h"
#include "tenon/cpu/thread_pool.h"

namespace tenon::cpu {

TENON_IN_EVERY_SET(GemmBlocks gemm_blocks(); int64_t gemm_scratch(const GemmTile& tile);
                   void gemm_tile(const GemmTile& tile); int64_t gemm_packed_b(int64_t columns, int64_t depth);
                   void gemm_pack_b(const Gemm& g, int64_t batch, int64_t column, int64_t columns, int64_t q,
                                    int64_t depth, float* packed);)

namespace {

// The threads' balance rises with the number of tiles, each tile's own cost (packing, the pool's hand-over) falls with
// its size. Below about 2 MFLOP a tile the hand-over shows (two Zen 4 cores).
constexpr double kLeastFlops = 2e6;
constexpr int64_t kMostTiles = 32;

int64_t divide_up(int64_t n, int64_t by) {
    return (n + by - 1) / by;
}
int64_t round_up(int64_t n, int64_t step) {
    return divide_up(n, step) * step;
}

double flops_of(int64_t m, int64_t n, int64_t k) {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(std::max<int64_t>(k, 1));
}

// How m x n is cut into tiles of whole blocks; the last of a kind may be smaller.
struct Cut {
    int64_t row_tiles, column_tiles, rows, columns;
    int64_t tiles() const { return row_tiles * column_tiles; }
};

struct Limits {
    int64_t wanted;                     // tiles, unless they would become smaller than least_*
    int64_t least_rows, least_columns;  // not cut further
    int64_t most_rows, most_columns;
};

Cut cut(int64_t m, int64_t n, const GemmBlocks& blocks, const Limits& limits) {
    Cut c{1, 1, 0, 0};
    for (;;) {
        c.rows = round_up(divide_up(m, c.row_tiles), blocks.rows);
        c.columns = round_up(divide_up(n, c.column_tiles), blocks.columns);
        const bool enough = c.tiles() >= limits.wanted;
        if (enough && c.rows <= limits.most_rows && c.columns <= limits.most_columns) break;
        const bool can_rows = c.rows > limits.least_rows && c.rows > blocks.rows;
        const bool can_columns = c.columns > limits.least_columns && c.columns > blocks.columns;
        if (!can_rows && !can_columns) break;
        const bool rows_next = can_rows && (!can_columns || c.rows > c.columns || c.rows > limits.most_rows);
        ++(rows_next ? c.row_tiles : c.column_tiles);
    }
    c.row_tiles = divide_up(m, c.rows);  // rounding up to whole blocks may have left the last ones empty
    c.column_tiles = divide_up(n, c.columns);
    return c;
}

GemmTile tile_of(const Gemm& g, const Cut& c, int64_t index, int64_t first_column, int64_t columns) {
    GemmTile t{};
    t.product = &g;
    t.batches = 1;
    t.row = index / c.column_tiles * c.rows;
    t.rows = std::min(c.rows, g.m - t.row);
    const int64_t column = index % c.column_tiles * c.columns;
    t.column = first_column + column;
    t.columns = std::min(c.columns, columns - column);
    t.k_count = g.k;
    return t;
}

void run(GemmTile& t) {
    t.scratch = thread_scratch(TENON_SELECT(gemm_scratch)(t));
    TENON_SELECT(gemm_tile)(t);
}

// Each tile packs what it needs and finishes its chains: small products, batches, and stores that need a chain whole.
void run_whole(const Gemm& g, const GemmBlocks& blocks) {
    const double flops = flops_of(g.m, g.n, g.k), all = flops * static_cast<double>(g.batch);
    const auto wanted = static_cast<int64_t>(std::clamp(all / kLeastFlops, 1.0, static_cast<double>(kMostTiles)));
    const Cut c = cut(g.m, g.n, blocks, {divide_up(wanted, g.batch), 4 * blocks.rows, 4 * blocks.columns, 768, 768});
    int64_t batches = 1;
    if (c.tiles() == 1) batches = std::clamp<int64_t>(static_cast<int64_t>(kLeastFlops / flops), 1, g.batch);
    parallel_for(divide_up(g.batch, batches) * c.tiles(), [&](int64_t index) {
        GemmTile t = tile_of(g, c, index % c.tiles(), 0, g.n);
        t.batch = index / c.tiles() * batches;
        t.batches = std::min(batches, g.batch - t.batch);
        run(t);
    });
}

// One step of k for some columns: B packed once by all threads, then used by all tiles.
void run_step(const Gemm& g, const GemmBlocks& blocks, int64_t batch, int64_t column, int64_t columns, int64_t q) {
    const int64_t depth = std::min(blocks.depth, g.k - q);
    float* packed = shared_scratch(TENON_SELECT(gemm_packed_b)(columns, depth));
    const int64_t group = 4 * blocks.columns;
    const auto offset = [&](int64_t first) { return TENON_SELECT(gemm_packed_b)(first, depth); };
    parallel_for(divide_up(columns, group), [&](int64_t index) {
        const int64_t first = index * group;
        TENON_SELECT(gemm_pack_b)
        (g, batch, column + first, std::min(group, columns - first), q, depth, packed + offset(first));
    });
    const Cut c = cut(g.m, columns, blocks, {kMostTiles, 8 * blocks.rows, 384, 192, columns});
    parallel_for(c.tiles(), [&](int64_t index) {
        GemmTile t = tile_of(g, c, index, column, columns);
        t.batch = batch;
        t.k_first = q;
        t.k_count = depth;
        t.packed_b = packed + offset(t.column - column);
        run(t);
    });
}

constexpr int64_t kSharedColumns = 3072;  // B packed: at most 4.7 MB, which L3 holds
constexpr double kSharedFlops = 40e6;     // of one step; below, two hand-overs to the pool cost more than packing twice

void run_shared(const Gemm& g, const GemmBlocks& blocks) {
    const int64_t parts = divide_up(g.n, kSharedColumns);
    const int64_t columns = round_up(divide_up(g.n, parts), blocks.columns);
    for (int64_t batch = 0; batch < g.batch; ++batch) {
        for (int64_t column = 0; column < g.n; column += columns) {
            for (int64_t q = 0; q < g.k; q += blocks.depth) {
                run_step(g, blocks, batch, column, std::min(columns, g.n - column), q);
            }
        }
    }
}

}  // namespace

void gemm(const Gemm& product) {
    if (product.batch == 0 || product.m == 0 || product.n == 0) return;
    const GemmBlocks blocks = TENON_SELECT(gemm_blocks)();
    const double step = flops_of(product.m, std::min(product.n, kSharedColumns), std::min(product.k, blocks.depth));
    const bool shared =
        chains_in_place(product) && product.k > 0 && product.m > 8 * blocks.rows && step >= kSharedFlops;
    shared ? run_shared(product, blocks) : run_whole(product, blocks);
}

}  // namespace tenon::cpu
