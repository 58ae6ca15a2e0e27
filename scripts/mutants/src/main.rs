//! Prints, as JSON, where the expressions, functions and match arms of source files are, in bytes. `scripts/mutants.py` rewrites them.

use serde_json::{Value, json};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

#[derive(Default)]
struct Places {
    /// Operator, whole expression.
    operators: Vec<Value>,
    /// The inside of a function's body.
    bodies: Vec<Value>,
    /// Whole arm, end of its pattern, guard.
    arms: Vec<Value>,
    /// Struct expressions that take fields from another.
    structs: Vec<Value>,
}

fn range(span: proc_macro2::Span) -> Value {
    let bytes = span.byte_range();
    json!([bytes.start, bytes.end])
}

impl Places {
    fn body(&mut self, block: &syn::Block) {
        let braces = block.brace_token.span;
        self.bodies.push(json!([braces.open().byte_range().end, braces.close().byte_range().start]));
    }
}

impl<'ast> Visit<'ast> for Places {
    fn visit_expr_binary(&mut self, node: &'ast syn::ExprBinary) {
        let whole = json!([node.left.span().byte_range().start, node.right.span().byte_range().end]);
        self.operators.push(json!([range(node.op.span()), whole]));
        visit::visit_expr_binary(self, node);
    }

    fn visit_expr_unary(&mut self, node: &'ast syn::ExprUnary) {
        let start = node.op.span().byte_range().start;
        self.operators.push(json!([range(node.op.span()), [start, node.expr.span().byte_range().end]]));
        visit::visit_expr_unary(self, node);
    }

    fn visit_expr_struct(&mut self, node: &'ast syn::ExprStruct) {
        if node.rest.is_some() {
            self.structs.push(range(node.span()));
        }
        visit::visit_expr_struct(self, node);
    }

    fn visit_arm(&mut self, node: &'ast syn::Arm) {
        let guard = node.guard.as_ref().map(|(_, guard)| range(guard.span()));
        self.arms.push(json!([range(node.span()), node.pat.span().byte_range().end, guard]));
        visit::visit_arm(self, node);
    }

    fn visit_item_fn(&mut self, node: &'ast syn::ItemFn) {
        self.body(&node.block);
        visit::visit_item_fn(self, node);
    }

    fn visit_impl_item_fn(&mut self, node: &'ast syn::ImplItemFn) {
        self.body(&node.block);
        visit::visit_impl_item_fn(self, node);
    }

    fn visit_trait_item_fn(&mut self, node: &'ast syn::TraitItemFn) {
        node.default.iter().for_each(|block| self.body(block));
        visit::visit_trait_item_fn(self, node);
    }
}

fn main() {
    let mut files = serde_json::Map::new();
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut places = Places::default();
        places.visit_file(&file);
        let Places { operators, bodies, arms, structs } = places;
        files.insert(path, json!({"operators": operators, "bodies": bodies, "arms": arms, "structs": structs}));
    }
    println!("{}", Value::Object(files));
}
