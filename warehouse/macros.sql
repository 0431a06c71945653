-- Formulas that the views share, apart from intervals (intervals.sql).

-- The answer that a model gives to everything: the one that at least 99 % of its answers are; null if none is.
create macro constant_answer(true_rate) as
    case when true_rate >= 0.99 then true when true_rate <= 0.01 then false end;

-- The smallest true difference found with a power of 80 % at α = 0.05 two-sided (minimum detectable
-- effect; Bloom 1995): (z₀.₉₇₅ + z₀.₈) · se, se being half the width of the 95 % interval over z₀.₉₇₅.
create macro detectable(width) as width / 2 / 1.959963984540054 * 2.801585218112969;

-- The probability of a normal deviate at least as far from 0 as difference / se, in both directions. The complementary
-- error function is a polynomial with a relative error below 1.2e-7 (Press et al. 1992, section 6.2).
create macro erfc_of(x, t) as
    t * exp(-x * x - 1.26551223 + t * (1.00002368 + t * (0.37409196 + t * (0.09678418 + t * (-0.18628806
    + t * (0.27886807 + t * (-1.13520398 + t * (1.48851587 + t * (-0.82215223 + t * 0.17087277)))))))));
create macro two_sided_p(difference, se) as
    case
        when difference = 0 then 1.0
        when se > 0 then erfc_of(abs(difference) / se / sqrt(2), 1 / (1 + abs(difference) / se / sqrt(8)))
    end;

-- McNemar's exact test (1947), two-sided: of b + c pairs that differ, b differ in one direction. p is twice
-- the smaller tail of the binomial of b + c and 1/2, at most 1. It is computed by logarithms, so that
-- thousands of pairs do not overflow. mid_p leaves half of the observed term out of the tail (Fagerland,
-- Lydersen and Laake 2013): less conservative, but it may exceed its nominal rate.
create macro half_binomial(k, n) as
    exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) - n::double * 0.6931471805599453);
create macro half_binomial_tail(k, n) as
    list_sum(list_transform(range(0, k + 1), lambda i: half_binomial(i, n)));
create macro mcnemar_p(b, c) as
    case when b = c then 1.0 else least(1.0, 2 * half_binomial_tail(least(b, c), b + c)) end;
create macro mcnemar_mid_p(b, c) as
    case
        when b = c then 1.0
        else least(
            1.0,
            2 * half_binomial_tail(least(b, c), b + c) - half_binomial(least(b, c), b + c)
        )
    end;

-- The number of samples of a complete triplet: direct and origin use one template, the others K = 8.
create macro samples_per_triplet(method) as case when method in ('direct', 'origin') then 1 else 8 end;

-- P(X <= k) of a binomial of n observations with probability p, 0 < p < 1, by logarithms.
create macro binomial_tail(k, n, p) as
    list_sum(
        list_transform(
            range(0, k + 1),
            lambda i: exp(
                lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) + i * ln(p) + (n - i) * ln(1 - p)
            )
        )
    );

-- Fisher's exact test, one-sided: the probability that at least k of n would be hits, if the hits among n and among m
-- others (k and j of them) were spread at random over all n + m.
create macro ln_choose(n, k) as lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
create macro fisher_more_p(k, n, j, m) as
    least(
        1.0,
        list_sum(
            list_transform(
                range(k, least(n, k + j) + 1),
                lambda i: exp(ln_choose(n, i) + ln_choose(m, k + j - i) - ln_choose(n + m, k + j))
            )
        )
    );

-- The 16 bits of a facet in a bit set of point_scores (question_slots); the lower 8 are its affirmed questions.
create macro facet_bits(bits, position) as ((bits >> (16 * position)::ubigint) & 65535)::usmallint;

-- The halves of 8 bits of revision questions: those that offer the right option, and those that offer a wrong one.
create macro right_offers(bits) as bits & 15;
create macro wrong_offers(bits) as (bits >> 4) & 15;

-- The debiased accuracy of revision questions, acc(right offered)/n + acc(wrong offered) · (n − 1)/n for n options
-- (MultifacetEval, section 4, metrics), of one point in parts of 2520, which is divisible by 1 to 10. Whole
-- numbers keep the sums over points exact. 8 bits each: the questions that are right, and those that are graded.
-- A point of which only right or only wrong offers are graded has no such accuracy: 0 of 0 parts.
create macro revision_parts(graded) as
    case when right_offers(graded) > 0 and wrong_offers(graded) > 0 then 2520 else 0 end;
create macro revision_right(correct, graded, n) as
    case
        when revision_parts(graded) > 0 then
            round(
                2520 / n * (
                    bit_count(right_offers(correct)) / bit_count(right_offers(graded))
                    + (n - 1) * bit_count(wrong_offers(correct)) / bit_count(wrong_offers(graded))
                )
            )::integer
        else 0
    end;

-- To how many independent questions the weights of revision_right amount: 1 / Σ weight².
create macro revision_size(graded, n) as
    case
        when revision_parts(graded) > 0 then
            n * n / (1 / bit_count(right_offers(graded)) + (n - 1) ** 2 / bit_count(wrong_offers(graded)))
        else 0
    end;

-- A text with [X] for the head and [Y] for the tail. The longer name is replaced first, because it may contain the
-- other one. A name that begins a sentence may have got a capital.
create macro blank_name(t, name, slot) as
    replace(replace(t, name, slot), upper(left(name, 1)) || substring(name, 2), slot);

create macro blank_names(t, head, tail) as
    case
        when length(head) >= length(tail) then blank_name(blank_name(t, head, '[X]'), tail, '[Y]')
        else blank_name(blank_name(t, tail, '[Y]'), head, '[X]')
    end;
