// Streams over memory: the yardsticks of work that only moves it.
#pragma once

#include <cstdint>

namespace tenon::bench {

// Arrays of floats from the allocator that tensors come from, so on the same kind of pages, walked by the pool's
// threads. Rates count each element read and each element written once, in bytes per second.
class Streams {
public:
    // Room for `arrays` (1 to 3) of `count` floats.
    Streams(int arrays, int64_t count);
    ~Streams();
    Streams(const Streams&) = delete;
    Streams& operator=(const Streams&) = delete;

    double copy() const;   // b = s a      two arrays, 8 bytes an element
    double sum() const;    // c = a + b    three arrays, 12 bytes an element
    double scale() const;  // a = s a      one array, 8 bytes an element

private:
    int arrays_;
    int64_t count_;
    float* array_[3] = {};
};

}  // namespace tenon::bench
