#include "tenon/train/interrupt.h"

#include <csignal>

namespace tenon::train {

namespace {

// volatile: written by a signal handler, read by the training loop.
volatile std::sig_atomic_t received = 0;
volatile std::sig_atomic_t requested = 0;
struct sigaction before_interrupt;
struct sigaction before_terminate;
struct sigaction before_request;

void receive(int number) {
    received = number;
    // The next one of either kind ends the process.
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
}

void request(int /*number*/) {
    requested = 1;
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

CheckpointRequestScope::CheckpointRequestScope() {
    requested = 0;
    struct sigaction action = {};
    action.sa_handler = request;
    action.sa_flags = SA_RESTART;  // nothing that waits for a file need know of it
    sigaction(SIGUSR1, &action, &before_request);
}

CheckpointRequestScope::~CheckpointRequestScope() {
    sigaction(SIGUSR1, &before_request, nullptr);
}

bool CheckpointRequestScope::take() noexcept {
    if (requested == 0) return false;
    requested = 0;
    return true;
}

}  // namespace tenon::train
