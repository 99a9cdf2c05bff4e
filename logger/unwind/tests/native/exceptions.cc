// C++ stacks: exceptions in flight, destructors that run because of them,
// handlers, templates, inline and virtual functions.

#include <algorithm>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

using visit_fn = void();

namespace {

struct Witness {
    visit_fn *visit;
    int depth;
    ~Witness() { visit(); }
};

struct Base {
    virtual ~Base() = default;
    virtual long run(visit_fn *visit, int depth) = 0;
};

template <int N> struct Derived : Base {
    [[gnu::noinline]] long run(visit_fn *visit, int depth) override {
        Witness witness{visit, depth};
        if (depth == 0)
            throw std::runtime_error("thrown from " + std::to_string(N));
        Derived<(N + 1) % 4> next;
        return next.run(visit, depth - 1) + N;
    }
};

[[gnu::noinline]] long rethrow(visit_fn *visit, int depth) {
    try {
        Derived<0> first;
        return first.run(visit, depth);
    } catch (const std::logic_error &) {
        return -1;
    } catch (...) {
        visit();
        throw;
    }
}

[[gnu::noinline]] long containers_of(visit_fn *visit, int count) {
    std::map<std::string, std::vector<int>> map;
    for (int i = 0; i < count; i++)
        map["key " + std::to_string(i % 3)].push_back(i * 7 % 5);
    std::function<bool(int, int)> less = [visit](int a, int b) {
        visit();
        return a < b;
    };
    long sum = 0;
    for (auto &[key, values] : map) {
        std::sort(values.begin(), values.end(), less);
        sum += values.front() + static_cast<long>(key.size());
    }
    return sum;
}

} // namespace

extern "C" long exceptions(visit_fn *visit) {
    long caught = 0;
    for (int depth = 0; depth < 6; depth++) {
        try {
            rethrow(visit, depth);
        } catch (const std::exception &error) {
            visit();
            caught += std::string(error.what()).size();
        }
    }
    return caught;
}

extern "C" long one_exception(visit_fn *visit) {
    try {
        return rethrow(visit, 2);
    } catch (const std::exception &) {
        return containers_of(visit, 4);
    }
}

extern "C" long containers(visit_fn *visit) { return containers_of(visit, 8); }

extern "C" long everything(visit_fn *visit) {
    return exceptions(visit) + containers(visit);
}
