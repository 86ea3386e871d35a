// Cuts a product into tiles by shape alone, and runs them on the pool. The arithmetic is in sets/gemm.cpp.
#include "tenon/cpu/gemm.h"

#include <algorithm>

#include "tenon/cpu/instruction_set.h"
#include "tenon/cpu/scratch.h"
#include "tenon/cpu/thread_pool.h"

namespace tenon::cpu {

TENON_IN_EVERY_SET(GemmBlocks gemm_blocks(); int64_t gemm_scratch(int64_t rows, int64_t columns, int64_t k);
                   void gemm_tile(const GemmTile& tile);)

namespace {

// A tile's share of packing falls with its size, and the threads' balance rises with their number. Measured on two
// cores: below about 2 MFLOP a tile the pool's hand-over shows, above 768 x 768 nothing is gained.
constexpr int64_t kMostRows = 768, kMostColumns = 768, kMostTiles = 24;
constexpr double kLeastFlops = 2e6;

struct Cut {
    int64_t row_tiles, column_tiles, batch_tiles;  // how many
    int64_t rows, columns, batches;                // in each; the last one of a kind may be smaller
};

int64_t divide_up(int64_t n, int64_t by) {
    return (n + by - 1) / by;
}

Cut cut(const Gemm& g, const GemmBlocks& blocks) {
    const double flops =
        2.0 * static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(std::max<int64_t>(g.k, 1));
    const double whole = flops * static_cast<double>(g.batch);
    const auto wanted = static_cast<int64_t>(std::clamp(whole / kLeastFlops, 1.0, static_cast<double>(kMostTiles)));
    Cut c{1, 1, 1, g.m, g.n, 1};
    for (;;) {
        c.rows = divide_up(divide_up(g.m, c.row_tiles), blocks.rows) * blocks.rows;
        c.columns = divide_up(divide_up(g.n, c.column_tiles), blocks.columns) * blocks.columns;
        const bool enough = g.batch * c.row_tiles * c.column_tiles >= wanted;
        if (enough && c.rows <= kMostRows && c.columns <= kMostColumns) break;
        const bool can_cut_rows = c.rows > 4 * blocks.rows, can_cut_columns = c.columns > 2 * blocks.columns;
        if (!can_cut_rows && !can_cut_columns) break;
        if (can_cut_rows && (c.rows > c.columns || !can_cut_columns)) {
            ++c.row_tiles;
        } else {
            ++c.column_tiles;
        }
    }
    c.row_tiles = divide_up(g.m, c.rows);  // rounding up to whole blocks may have left the last tile empty
    c.column_tiles = divide_up(g.n, c.columns);
    if (c.row_tiles * c.column_tiles == 1) {
        c.batches = std::clamp<int64_t>(static_cast<int64_t>(kLeastFlops / flops), 1, g.batch);
    }
    c.batch_tiles = divide_up(g.batch, c.batches);
    return c;
}

void run_tile(const Gemm& g, const Cut& c, int64_t index) {
    const int64_t column_tile = index % c.column_tiles, row_tile = index / c.column_tiles % c.row_tiles;
    const int64_t batch_tile = index / (c.column_tiles * c.row_tiles);
    GemmTile t{};
    t.product = &g;
    t.batch = batch_tile * c.batches;
    t.batches = std::min(c.batches, g.batch - t.batch);
    t.row = row_tile * c.rows;
    t.rows = std::min(c.rows, g.m - t.row);
    t.column = column_tile * c.columns;
    t.columns = std::min(c.columns, g.n - t.column);
    t.scratch = thread_scratch(TENON_SELECT(gemm_scratch)(t.rows, t.columns, g.k));
    TENON_SELECT(gemm_tile)(t);
}

}  // namespace

void gemm(const Gemm& product) {
    if (product.batch == 0 || product.m == 0 || product.n == 0) return;
    const Cut c = cut(product, TENON_SELECT(gemm_blocks)());
    parallel_for(c.batch_tiles * c.row_tiles * c.column_tiles, [&](int64_t tile) { run_tile(product, c, tile); });
}

}  // namespace tenon::cpu
