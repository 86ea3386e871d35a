// A generator writes a file only when its text is new, so that what includes it is not rebuilt for nothing.
#pragma once

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

inline void write_if_changed(const std::string& path, const std::string& text) {
    std::stringstream before;
    before << std::ifstream(path).rdbuf();
    if (before.str() == text) return;
    std::ofstream out(path);
    out << text;
    if (!out.flush()) throw std::runtime_error("cannot write " + path);
}
