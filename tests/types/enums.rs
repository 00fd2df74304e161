// Rust: enums whose variants have data, in a slice, in boxes, and where a pointer tells which variant it is.
pub enum Shape { Circle { radius: u64, tag: u32 }, Square(u64, u64), Nothing }
pub struct Cell { pub id: u64, pub shape: Shape, pub next: Option<Box<Cell>> }

#[inline(never)]
fn area(shapes: &[Shape]) -> u64 {
    let mut sum = 0u64;
    for shape in shapes {
        sum = sum.wrapping_add(match shape { Shape::Circle { radius, tag } => *radius ^ *tag as u64, Shape::Square(side, count) => *side ^ *count, Shape::Nothing => 1 });
    }
    sum
}
#[inline(never)]
fn grow(shapes: &mut [Shape]) {
    for shape in shapes { match shape { Shape::Circle { radius, .. } => *radius += 1, Shape::Square(_, count) => *count += 1, Shape::Nothing => {} } }
}
#[inline(never)]
fn chain(first: &Option<Box<Cell>>) -> u64 {
    let mut sum = 0u64;
    let mut at = first;
    while let Some(cell) = at { sum = sum.wrapping_add(cell.id); if let Shape::Square(side, _) = &cell.shape { sum ^= *side } at = &cell.next; }
    sum
}
fn shape(i: u64) -> Shape { match i % 3 { 0 => Shape::Circle { radius: i, tag: 7 }, 1 => Shape::Square(i, 3), _ => Shape::Nothing } }

fn main() {
    let mut shapes: Vec<Shape> = (0..300).map(shape).collect();
    let mut first: Option<Box<Cell>> = None;
    for i in 0..200 { first = Some(Box::new(Cell { id: i, shape: shape(i), next: first.take() })); }
    let mut sum = 0u64;
    for _ in 0..60 { grow(&mut shapes); sum = sum.wrapping_add(area(&shapes)).wrapping_add(chain(&first)); }
    let size = std::mem::size_of::<Shape>();
    // The variant that each value has, as programs of other languages say it of a union's member.
    println!("field\tShape\t0\t4\t(discriminant)\nfield\tShape\t4\t4\tCircle.tag\nfield\tShape\t8\t8\tCircle.radius|Square.__0\nfield\tShape\t16\t8\tSquare.__1");
    println!("object\tShape\t{:p}\t{}\t{}\t*", shapes.as_ptr(), size, shapes.len());
    let cell = first.as_ref().unwrap();
    let at = &**cell as *const Cell as usize;
    println!("field\tCell\t{}\t8\tid\nfield\tCell\t{}\t8\tnext", &cell.id as *const u64 as usize - at, &cell.next as *const _ as usize - at);
    let inner = &cell.shape as *const Shape as usize - at;
    println!("field\tCell\t{}\t4\tshape.(discriminant)\nfield\tCell\t{}\t8\tshape.Circle.radius|Square.__0", inner, inner + 8);
    let mut next = &first;
    while let Some(cell) = next { println!("object\tCell\t{:p}\t{}\t1\t*", &**cell, std::mem::size_of::<Cell>()); next = &cell.next; }
    if sum == 1 { std::process::exit(1) }
}
