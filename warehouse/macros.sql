-- Formulas that the queries share. The intervals of scores are in pretexeval/statistics/.

-- The answer that a model gives to everything: the one that at least 99 % of its answers are; null if none is.
create macro constant_answer(true_rate) as
    case when true_rate >= 0.99 then true when true_rate <= 0.01 then false end;

-- The smallest true difference found with a power of 80 % at α = 0.05 two-sided (minimum detectable
-- effect; Bloom 1995): (z₀.₉₇₅ + z₀.₈) · se, se being half the width of the 95 % interval over z₀.₉₇₅.
create macro detectable(width) as width / 2 / 1.959963984540054 * 2.801585218112969;

-- The share of observations that are right: c of n in each unit.
create macro share(c, n) as sum(c)::double / nullif(sum(n), 0);

-- The number of choices of n things out of k; 0 if k < n.
create macro choose(k, n) as
    case
        when k < n then 0
        else factorial(k::integer) // factorial(n::integer) // factorial(greatest(k - n, 0)::integer)
    end;

-- Under the policy `excluded`, a score is null if more than a fifth of its units is left out, because the rest is the
-- model's own selection.
create macro unless_selected(score, scoring_policy, left_out_rate) as
    case when scoring_policy <> 'excluded' or left_out_rate <= 0.2 then score end;

-- Wilson's 95 % score interval (Wilson 1927) of a share p of n independent observations:
-- (pn + z²/2 ± z √(p(1−p)n + z²/4)) / (n + z²), z = 1.959964. The cases avoid a rounding error at p = 0 and 1.
create macro wilson_limit(p, n, z) as
    (p * n + 1.920729410347062 + z * sqrt(p * (1 - p) * n + 0.960364705173531)) / (n + 3.841458820694124);
create macro wilson_low(p, n) as case when p = 0 then 0.0 else wilson_limit(p, n, -1.959963984540054) end;
create macro wilson_high(p, n) as case when p = 1 then 1.0 else wilson_limit(p, n, 1.959963984540054) end;

-- The place of a facet in the order in which the paper adds facets up to mastered points (MultifacetEval, figure 6).
create macro place_facet(facet) as
    list_position(['comparison', 'verification', 'rectification', 'discrimination'], facet);

-- The place of a type of question in the order in which types are shown (schemas/question_stages.py), from 0.
create macro place_type(type) as list_position(['MCQ', 'RQ', 'MAQ', 'TFQ'], type) - 1;

-- The number of samples of a complete triplet: direct and origin use one template, the others K = 8.
create macro samples_per_triplet(method) as case when method in ('direct', 'origin') then 1 else 8 end;

-- P(X <= k) of a binomial of n observations with probability p, 0 < p < 1. It is computed by logarithms, so that
-- thousands of observations do not overflow.
create macro ln_choose(n, k) as lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
create macro binomial_tail(k, n, p) as
    list_sum(list_transform(range(0, k + 1), lambda i: exp(ln_choose(n, i) + i * ln(p) + (n - i) * ln(1 - p))));

-- McNemar's exact test (1947), two-sided: of b + c pairs that differ, b differ in one direction. p is twice
-- the smaller tail of the binomial of b + c and 1/2, at most 1. mid_p leaves half of the observed term out of the tail
-- (Fagerland, Lydersen and Laake 2013): less conservative, but it may exceed its nominal rate.
create macro mcnemar_p(b, c) as
    case when b = c then 1.0 else least(1.0, 2 * binomial_tail(least(b, c), b + c, 0.5)) end;
create macro mcnemar_mid_p(b, c) as
    case
        when b = c then 1.0
        else least(1.0, 2 * binomial_tail(least(b, c), b + c, 0.5) - exp(ln_choose(b + c, b) + (b + c) * ln(0.5)))
    end;

-- Fisher's exact test, one-sided: the probability that at least k of n would be hits, if the hits among n and among m
-- others (k and j of them) were spread at random over all n + m.
create macro fisher_more_p(k, n, j, m) as
    least(1.0, list_sum(list_transform(
        range(k, least(n, k + j) + 1),
        lambda i: exp(ln_choose(n, i) + ln_choose(m, k + j - i) - ln_choose(n + m, k + j))
    )));

-- The chance that a random answer to a question is right (MultifacetEval, section 4): 1/n with n options, or 1/(2ⁿ − 1)
-- where any of them may be right, or 1/2 without options. A random revision ends in the right one of n options.
create macro random_accuracy(type, options) as
    case type when 'TFQ' then 0.5 when 'MAQ' then 1 / (2 ** len(options) - 1) else 1 / len(options) end;

-- The three macros below aggregate over the questions of one point, facet and is_negated. is_right is null for those
-- that are not graded. The score is parts_right / parts_asked: the share of the graded questions that are right, or
-- for revision questions their debiased accuracy acc(right offered)/n + acc(wrong offered) · (n − 1)/n with n options
-- (MultifacetEval, section 4, metrics). This has 2520 parts, which is divisible by 1 to 10: whole numbers keep sums
-- over points exact. It has none if only right or only wrong offers are graded.
create macro parts_asked(is_right, type, is_wrong_offered) as
    case
        when any_value(type) <> 'RQ' then count(is_right)
        when count(is_right) filter (is_wrong_offered) = 0 then 0
        when count(is_right) filter (not is_wrong_offered) = 0 then 0
        else 2520
    end::integer;
create macro parts_right(is_right, type, is_wrong_offered, n_options) as
    case
        when any_value(type) <> 'RQ' then count(*) filter (is_right)
        else coalesce(round(2520 / any_value(n_options) * (
            avg(is_right::integer) filter (not is_wrong_offered)
            + (any_value(n_options) - 1) * avg(is_right::integer) filter (is_wrong_offered)
        )), 0)
    end::integer;

-- To how many independent questions these amount: 1 / Σ weight² for revision questions.
create macro independent_questions(is_right, type, is_wrong_offered, n_options) as
    case
        when any_value(type) <> 'RQ' then count(is_right)::double
        else coalesce(any_value(n_options) ** 2 / (
            1 / nullif(count(is_right) filter (not is_wrong_offered), 0)
            + (any_value(n_options) - 1) ** 2 / nullif(count(is_right) filter (is_wrong_offered), 0)
        ), 0)
    end;
