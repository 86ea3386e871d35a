#include "tenon/base/number.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace tenon::base {

RC_GTEST_PROP(Number, ShortestReadsBackAsTheSameBits, (uint64_t bits)) {
    double value;
    std::memcpy(&value, &bits, sizeof(value));
    RC_PRE(std::isfinite(value));
    for (const std::string& text : {shortest(value), shortest_real(value)}) {
        const double other = std::strtod(text.c_str(), nullptr);  // glibc's, correctly rounded
        RC_ASSERT(std::memcmp(&other, &value, sizeof(value)) == 0);
        const double ours = parse_real(text).value();
        RC_ASSERT(std::memcmp(&ours, &value, sizeof(value)) == 0);
    }
}

TEST(Number, ReadsWholeTextsOnly) {
    EXPECT_EQ(parse_integer("-9223372036854775808"), std::numeric_limits<int64_t>::min());
    for (const char* bad : {"", " 1", "1 ", "+1", "0x1", "1.0", "9223372036854775808", "1e3", "-"}) {
        EXPECT_FALSE(parse_integer(bad)) << bad;
    }
    EXPECT_EQ(parse_real("1e-3"), 1e-3);
    EXPECT_EQ(parse_real("-inf"), -std::numeric_limits<double>::infinity());
    for (const char* bad : {"", " 1", "1 ", "+1", "0x1p3", "1,5", "nan(1)", "infinity", "1e", "e1", "1e999"}) {
        EXPECT_FALSE(parse_real(bad)) << bad;
    }
}

TEST(Number, IsShortForPeople) {
    EXPECT_EQ(shortest(0.1f), "0.1");
    EXPECT_EQ(shortest(0.0003), "0.0003");
    EXPECT_EQ(shortest(0.00003), "3e-05");
    EXPECT_EQ(shortest(100000.0), "100000");
    EXPECT_EQ(shortest(1e15), "1000000000000000");
    EXPECT_EQ(shortest(1e16), "1e+16");
    EXPECT_EQ(shortest_real(-0.0), "-0.0");
    EXPECT_EQ(shortest_real(1e16), "1e+16");
    EXPECT_EQ(shortest(-std::nan("")), "nan");
    EXPECT_EQ(fixed(2.0 / 3, 3), "0.667");
    EXPECT_EQ(fixed(-1e300, 2).size(), 305u);
    EXPECT_EQ(significant(0.0012345, 3), "0.00123");
    EXPECT_EQ(human_bytes(1023), "1023 B");
    EXPECT_EQ(human_bytes(1024), "1.0 KiB");
    EXPECT_EQ(human_bytes(4137850), "3.9 MiB");
    EXPECT_EQ(human_bytes((int64_t{1} << 30) - 1), "1.0 GiB");
    EXPECT_EQ(human_count(999), "999");
    EXPECT_EQ(human_count(0.25), "0.25");
    EXPECT_EQ(human_count(12345), "12.3 k");
    EXPECT_EQ(human_count(999600), "1.00 M");
    EXPECT_EQ(human_rate(4096, "tokens"), "4.10 k tokens/s");
    EXPECT_EQ(percent(0.4567), "45.7%");
    EXPECT_EQ(human_duration(0.254), "0.25 s");
    EXPECT_EQ(human_duration(59.96), "1 min 00 s");
    EXPECT_EQ(human_duration(245), "4 min 05 s");
    EXPECT_EQ(human_duration(3599.6), "1 h 00 min");
    EXPECT_EQ(human_duration(86399), "1 d 00 h");
    EXPECT_EQ(human_duration(180000), "2 d 02 h");
    EXPECT_EQ(human_duration(-5), "-5.00 s");
}

}  // namespace tenon::base
