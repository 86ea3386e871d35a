// Cuts a product into tiles by shape alone, and runs them on the pool. The arithmetic is in sets/gemm.cpp.
#include "tenon/cpu/gemm.h"

#include <algorithm>

#include "tenon/base/fault.h"
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

constexpr int64_t kSharedColumns = 2048;  // B packed: at most 3.2 MB, twice, which L3 holds
constexpr double kSharedFlops = 40e6;     // of one step; below, handing over to the pool costs more than packing twice

// One step of k for some columns of one product in the batch: B packed once, then used by all tiles of these columns.
struct Step {
    int64_t batch, column, columns, q, depth;
};

struct Steps {
    int64_t column_parts, columns, depth_parts, count;
};
Steps steps_of(const Gemm& g, const GemmBlocks& blocks) {
    Steps s{};
    s.columns = round_up(divide_up(g.n, divide_up(g.n, kSharedColumns)), blocks.columns);
    s.column_parts = divide_up(g.n, s.columns);
    s.depth_parts = divide_up(g.k, blocks.depth);
    s.count = g.batch * s.column_parts * s.depth_parts;
    return s;
}
Step step_at(const Gemm& g, const GemmBlocks& blocks, const Steps& s, int64_t index) {
    Step step{};
    step.q = index % s.depth_parts * blocks.depth;
    step.depth = std::min(blocks.depth, g.k - step.q);
    step.column = index / s.depth_parts % s.column_parts * s.columns;
    step.columns = std::min(s.columns, g.n - step.column);
    step.batch = index / (s.depth_parts * s.column_parts);
    return step;
}

void pack_part(const Gemm& g, const GemmBlocks& blocks, const Step& s, float* packed, int64_t index) {
    const int64_t first = index * 4 * blocks.columns;
    TENON_SELECT(gemm_pack_b)
    (g, s.batch, s.column + first, std::min(4 * blocks.columns, s.columns - first), s.q, s.depth,
     packed + TENON_SELECT(gemm_packed_b)(first, s.depth));
}

void compute_part(const Gemm& g, const Step& s, const Cut& c, const float* packed, int64_t index) {
    GemmTile t = tile_of(g, c, index, s.column, s.columns);
    t.batch = s.batch;
    t.k_first = s.q;
    t.k_count = s.depth;
    t.packed_b = packed + TENON_SELECT(gemm_packed_b)(t.column - s.column, s.depth);
    run(t);
}

// All tiles share B, packed one step ahead: while some threads multiply, others wait for memory on the next step's
// part.
void run_shared(const Gemm& g, const GemmBlocks& blocks) {
    const Steps steps = steps_of(g, blocks);
    const int64_t buffer = round_up(TENON_SELECT(gemm_packed_b)(steps.columns, std::min(blocks.depth, g.k)), 16);
    float* packed = shared_scratch(2 * buffer);
    for (int64_t index = -1; index < steps.count; ++index) {
        const bool computes = index >= 0, packs = index + 1 < steps.count;
        const Step now = step_at(g, blocks, steps, std::max<int64_t>(index, 0));
        const Step next = step_at(g, blocks, steps, packs ? index + 1 : 0);
        const Cut c = cut(g.m, now.columns, blocks, {kMostTiles, 8 * blocks.rows, 384, 192, now.columns});
        const int64_t tiles = computes ? c.tiles() : 0, parts = packs ? divide_up(next.columns, 4 * blocks.columns) : 0;
        float *from = packed + (index & 1) * buffer, *to = packed + (~index & 1) * buffer;
        parallel_for(tiles + parts, [&](int64_t i) {
            // The parts lie evenly among the tiles.
            const int64_t before = i * parts / (tiles + parts), after = (i + 1) * parts / (tiles + parts);
            if (after > before) {
                pack_part(g, blocks, next, to, before);
            } else {
                compute_part(g, now, c, from, i - before);
            }
        });
    }
}

// The planted fault: two partial sums instead of one chain.
void add_halves_of_k(const Gemm& g) {
    const auto past = [](const void* first, Element type, int64_t elements) {
        return static_cast<const char*>(first) + elements * (type == Element::f32 ? 4 : 2);
    };
    Gemm low = g, high = g;
    low.k = g.k / 2, high.k = g.k - low.k;
    high.a = past(g.a, g.a_type, low.k * g.a_column), high.b = past(g.b, g.b_type, low.k * g.b_row);
    high.store = Store::add, high.bias = nullptr;
    gemm(low);
    gemm(high);
}

}  // namespace

void gemm(const Gemm& product) {
    if (product.batch == 0 || product.m == 0 || product.n == 0) return;
    if (TENON_FAULT(product_splits_k) && threads() > 1 && product.k > 1 && product.store == Store::overwrite) {
        return add_halves_of_k(product);
    }
    const GemmBlocks blocks = TENON_SELECT(gemm_blocks)();
    const double step = flops_of(product.m, std::min(product.n, kSharedColumns), std::min(product.k, blocks.depth));
    const bool shared =
        chains_in_place(product) && product.k > 0 && product.m > 8 * blocks.rows && step >= kSharedFlops;
    shared ? run_shared(product, blocks) : run_whole(product, blocks);
}

}  // namespace tenon::cpu
