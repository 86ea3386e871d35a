// A pointer to an object that counts its own references: 8 bytes, one cache line touched.
#pragma once

#include <atomic>
#include <utility>

namespace tenon {

class Counted {
public:
    Counted() = default;
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

private:
    template <typename T>
    friend class Intrusive;
    mutable std::atomic<int32_t> references_{0};
};

template <typename T>
class Intrusive {
public:
    Intrusive() = default;
    explicit Intrusive(T* object) noexcept : object_(object) { retain(); }
    Intrusive(const Intrusive& other) noexcept : object_(other.object_) { retain(); }
    Intrusive(Intrusive&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Intrusive& operator=(Intrusive other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Intrusive() { release(); }

    T* get() const noexcept { return object_; }
    T* operator->() const noexcept { return object_; }
    T& operator*() const noexcept { return *object_; }
    explicit operator bool() const noexcept { return object_ != nullptr; }
    friend bool operator==(const Intrusive& a, const Intrusive& b) noexcept { return a.object_ == b.object_; }
    // True where no other handle exists: the object may be taken apart.
    bool unique() const noexcept {
        return object_ != nullptr && object_->references_.load(std::memory_order_acquire) == 1;
    }

private:
    void retain() noexcept {
        // Relaxed: a new reference is made from one that is held already.
        if (object_ != nullptr) object_->references_.fetch_add(1, std::memory_order_relaxed);
    }
    void release() noexcept {
        // Acquire-release: the last owner sees every other owner's writes before it deletes.
        if (object_ != nullptr && object_->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete object_;
    }

    T* object_ = nullptr;
};

}  // namespace tenon
