//! A formula as a stack of units: sums of columns by an NAU, their product by an NMU.

use nalm::expression::Expression;
use nalm::{Error, Nau, Network, Nmu};

/// Higher powers are no stack that anybody would train.
const MOST_FACTORS: usize = 16;

/// A network and its parameters.
type Trained = (Network<f64>, Vec<f64>);

/// The network that computes a formula from these columns, and its parameters; nothing unless it is a product of sums of columns.
pub fn stack(formula: &Expression, columns: &[&str]) -> Result<Option<Trained>, Error> {
    let (mut scale, mut rows) = (1.0, Vec::new());
    if factors(formula, columns, &mut scale, &mut rows).is_none() || rows.is_empty() {
        return Ok(None);
    }
    rows[0].iter_mut().for_each(|weight| *weight *= scale);
    let (sums, mut params) = (rows.len(), rows.concat());
    let nau = Nau::new(columns.len(), sums)?;
    if sums == 1 {
        return Ok(Some((Network::single(nau), params)));
    }
    params.extend(vec![1.0; sums]);
    Ok(Some((Network::new(vec![Box::new(nau), Box::new(Nmu::new(sums, 1)?)])?, params)))
}

/// Adds the factors of an expression, each as weights of the columns, and multiplies the scale by the others.
fn factors(expression: &Expression, columns: &[&str], scale: &mut f64, rows: &mut Vec<Vec<f64>>) -> Option<()> {
    match expression {
        number if is_number(number) => *scale *= number.evaluate(&|_| f64::NAN),
        Expression::Product(all) => all.iter().try_for_each(|one| factors(one, columns, scale, rows))?,
        Expression::Power(base, power) if power.fract() == 0.0 && (1.0..=MOST_FACTORS as f64).contains(power) => {
            (0..*power as usize).try_for_each(|_| factors(base, columns, scale, rows))?;
        }
        _ => {
            let mut row = vec![0.0; columns.len()];
            sum(expression, columns, 1.0, &mut row)?;
            rows.push(row);
        }
    }
    (rows.len() <= MOST_FACTORS).then_some(())
}

/// Whether an expression is a number, such as pi / 3.
fn is_number(expression: &Expression) -> bool {
    let mut columns = 0;
    expression.variables(&mut |_| columns += 1);
    columns == 0
}

/// Adds what an expression is of every column, if it is a sum of multiples of them.
fn sum(expression: &Expression, columns: &[&str], times: f64, row: &mut [f64]) -> Option<()> {
    match expression {
        Expression::Variable(name) => row[columns.iter().position(|column| column == name)?] += times,
        Expression::Sum(terms) => terms.iter().try_for_each(|term| sum(term, columns, times, row))?,
        Expression::Product(all) => {
            let (numbers, others): (Vec<&Expression>, Vec<&Expression>) = all.iter().partition(|one| is_number(one));
            let [other] = others[..] else { return None };
            let number: f64 = numbers.iter().map(|number| number.evaluate(&|_| f64::NAN)).product();
            sum(other, columns, times * number, row)?;
        }
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalm::save;

    #[test]
    fn a_stack_has_the_values_of_its_formula_and_comes_back_from_its_bytes() {
        let columns = ["a", "b c", "d"];
        let x = [1.25, -3.5, 0.75];
        for text in [
            "a",
            "1.2 * a * d",
            "2 * a - 0.5 * `b c` + pi * d",
            "3 * (a + 2 * d)^2 * (`b c` - a) * d",
            "(a + `b c` + d) / 3",
            "pi / 3 * a^2 * d",
        ] {
            let formula: Expression = text.parse().unwrap();
            let (network, params) = stack(&formula, &columns).unwrap().unwrap();
            let bytes = save::to_bytes(&network, &params).unwrap();
            let (network, params) = save::from_bytes::<f64>(&bytes, &nalm::module::find).unwrap();
            let got = network.predict(&params, &x).unwrap()[0];
            let want = formula.evaluate(&|name| x[columns.iter().position(|column| *column == name).unwrap()]);
            assert!((got - want).abs() <= 1e-14 * want.abs(), "{text}: {got} {want}");
        }
        for text in ["a / d", "sqrt(a)", "a + 1", "a * (d + 1)", "a * d + `b c`", "7", "a^20", "exp(a) * d"] {
            let formula: Expression = text.parse().unwrap();
            assert!(stack(&formula, &columns).unwrap().is_none(), "{text}");
        }
    }
}
