#include "tenon/train/interrupt.h"

#include <csignal>

namespace tenon::train {

namespace {

// volatile: written by a signal handler, read by the training loop.
volatile std::sig_atomic_t received = 0;
struct sigaction before_interrupt;
struct sigaction before_terminate;

void receive(int number) {
    received = number;
    // The next one ends the process.
    std::signal(number, SIG_DFL);
}

}  // namespace

InterruptScope::InterruptScope() {
    received = 0;
    struct sigaction action = {};
    action.sa_handler = receive;
    sigaction(SIGINT, &action, &before_interrupt);
    sigaction(SIGTERM, &action, &before_terminate);
}

InterruptScope::~InterruptScope() {
    sigaction(SIGINT, &before_interrupt, nullptr);
    sigaction(SIGTERM, &before_terminate, nullptr);
}

int InterruptScope::signal() noexcept {
    return received;
}

}  // namespace tenon::train
