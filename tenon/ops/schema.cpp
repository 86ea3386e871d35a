#include "tenon/ops/schema.h"

#include <cctype>

#include "tenon/base/error.h"

namespace tenon::ops {

namespace {

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {}

    Schema parse() {
        schema_.name = word();
        expect('(');
        if (!accept(')')) {
            do parameter();
            while (accept(','));
            expect(')');
        }
        results();
        if (at_ != text_.size()) fail("unexpected text");
        return std::move(schema_);
    }

private:
    void parameter() {
        const std::string name = word();
        if (accept(':')) return attribute(name);
        InputSchema input{name};
        for (;;) {
            if (accept('!')) {
                input.mutated = true;
            } else if (accept('?')) {
                input.optional = true;
            } else if (accept('[')) {
                expect(']');
                input.list = true;
            } else {
                break;
            }
        }
        schema_.inputs.push_back(input);
    }

    void attribute(const std::string& name) {
        AttributeSchema attribute{name, type(), 0, std::nullopt};
        int& count = attribute.type == AttributeType::real   ? reals_
                     : attribute.type == AttributeType::dims ? dims_
                                                             : integers_;
        attribute.slot = count++;
        if (integers_ > max_integers || reals_ > max_reals || dims_ > max_dims) fail("too many attributes");
        if (accept('=')) attribute.fallback = fallback();
        schema_.attributes.push_back(attribute);
    }

    AttributeType type() {
        const std::string name = word();
        if (name == "int") return AttributeType::integer;
        if (name == "bool") return AttributeType::boolean;
        if (name == "real") return AttributeType::real;
        if (name == "dims") return AttributeType::dims;
        if (name == "dtype") return AttributeType::dtype;
        if (name == "device") return AttributeType::device;
        fail("unknown attribute type " + name);
    }

    std::string fallback() {
        skip();
        const size_t start = at_;
        int depth = 0;
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '{' || c == '(') ++depth;
            if (depth == 0 && (c == ',' || c == ')')) break;
            if (c == '}' || c == ')') --depth;
            ++at_;
        }
        size_t end = at_;
        while (end > start && text_[end - 1] == ' ') --end;
        return std::string(text_.substr(start, end - start));
    }

    void results() {
        skip();
        if (at_ == text_.size()) {
            schema_.outputs = {"out"};
            return;
        }
        expect('-');
        expect('>');
        if (accept('(')) {
            do schema_.outputs.push_back(word());
            while (accept(','));
            expect(')');
            return;
        }
        const std::string name = word();
        schema_.list_output = name == "tensors";
        if (name != "none" && name != "tensors") schema_.outputs = {name};
    }

    std::string word() {
        skip();
        const size_t start = at_;
        while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
        if (at_ == start) fail("a name is missing");
        return std::string(text_.substr(start, at_ - start));
    }

    void skip() {
        while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    }

    bool accept(char c) {
        skip();
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }

    void expect(char c) {
        if (!accept(c)) fail(std::string("'") + c + "' is missing");
    }

    [[noreturn]] void fail(const std::string& what) const {
        throw Error(Code::usage, "schema",
                    what + " at character " + std::to_string(at_) + " of \"" + std::string(text_) + "\"");
    }

    std::string_view text_;
    size_t at_ = 0;
    int integers_ = 0;
    int reals_ = 0;
    int dims_ = 0;
    Schema schema_;
};

}  // namespace

int Schema::input_index(std::string_view input) const {
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].name == input) return static_cast<int>(i);
    }
    return -1;
}

int Schema::output_index(std::string_view output) const {
    for (size_t i = 0; i < outputs.size(); ++i) {
        if (outputs[i] == output) return static_cast<int>(i);
    }
    return -1;
}

const AttributeSchema& Schema::attribute(std::string_view attribute) const {
    for (const AttributeSchema& candidate : attributes) {
        if (candidate.name == attribute) return candidate;
    }
    throw Error(Code::usage, name, "has no attribute named \"" + std::string(attribute) + "\"");
}

Schema parse_schema(std::string_view text) {
    return Parser(text).parse();
}

}  // namespace tenon::ops
